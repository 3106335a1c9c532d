//! No framework: the job's nodes run as they are.

use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::framework::{Framework, Part};

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

    fn needs_trainer(&self) -> bool {
        false
    }

    fn inject(&self, _draft: &mut Draft<'_>) {}
}

impl Framework for NoPolicy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn needs_trainer(&self) -> bool {
        false
    }

    fn takes(&self, _draft: &Draft<'_>, rjob: &ReplicatedJob, part: Part) -> bool {
        rjob.trains() && part != Part::Resources
    }

    fn upstream_takes_resources(&self, _rjob: &ReplicatedJob) -> bool {
        false
    }

    fn inject(&self, _draft: &mut Draft<'_>) {}
}
