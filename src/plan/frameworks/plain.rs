//! No framework: the job's nodes run as they are.

use crate::k8s::problem::Problems;
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::framework::{Framework, Part};
use crate::plan::injection::{CheckedInjection, Injection};

/// An `mlPolicy` that sets no framework.
pub(super) struct Plain;

/// No `mlPolicy` at all: `resourcesPerNode` has no effect.
pub(super) struct NoPolicy;

/// Name of both in `explain`.
const NAME: &str = "none";

impl Framework for Plain {
    fn name(&self) -> &'static str {
        NAME
    }

    fn injection(&self, draft: &Draft<'_>) -> Result<CheckedInjection, Problems> {
        Injection::default().check(draft, NAME, Problems::default())
    }
}

impl Framework for NoPolicy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn takes(&self, _draft: &Draft<'_>, rjob: &ReplicatedJob, part: Part) -> bool {
        rjob.trains() && part != Part::Resources
    }

    fn upstream_takes_resources(&self, _rjob: &ReplicatedJob) -> bool {
        false
    }

    fn injection(&self, draft: &Draft<'_>) -> Result<CheckedInjection, Problems> {
        Injection::default().check(draft, NAME, Problems::default())
    }
}
