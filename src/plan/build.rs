//! From a settled job to its plan. Nothing here can fail, and nothing is left out.

use k8s_openapi::api::core::v1::ConfigMap;

use super::draft::Finished;
use super::inputs::{ClusterFacts, Observed};
use super::planned::{Plan, PlannedJobSet};
use super::settle::Settled;
use super::trace::Stage;
use super::{assemble, existing, overrides};

/// What the author of a job must know when its JobSet is created a second time.
const MADE_AGAIN: &str = "the JobSet was deleted before it had ended and is created again: training starts from its \
                          beginning, or from its last checkpoint";

/// Builds the plan of a settled job. `snapshot` is the runtime's, where it is not there yet; `digest` is that of the one that
/// the JobSet is built from.
pub(super) fn build(
    settled: Settled<'_>,
    observed: &Observed,
    facts: &ClusterFacts,
    snapshot: Option<ConfigMap>,
    digest: &str,
) -> Plan {
    let Settled {
        mut draft,
        framework,
        injection,
        gang,
    } = settled;
    let job = draft.job;

    // Each of the two may refer to variables of the one that comes first.
    let inject = Stage::Framework {
        name: framework.name(),
    };
    let (secrets, config_maps) = if framework.follows_trainer_env() {
        draft.stage(&Stage::Trainer, |draft| overrides::trainer_env(draft, framework));
        draft.stage(&inject, |draft| injection.apply(draft))
    } else {
        let objects = draft.stage(&inject, |draft| injection.apply(draft));
        draft.stage(&Stage::Trainer, |draft| overrides::trainer_env(draft, framework));
        objects
    };
    let (gang, gang_objects) = match gang {
        Some(gang) => gang.place(&mut draft, facts),
        None => (None, Vec::new()),
    };
    draft.stage(&Stage::Assemble, |draft| assemble::complete(draft, digest));
    if observed.jobset.is_none() && observed.deleted.is_some() {
        draft.warnings.push(MADE_AGAIN.to_owned());
    }

    let Finished {
        jobset: object,
        warnings,
        trace,
    } = draft.finish();
    let (action, frozen) = existing::reconcile(job, observed.jobset.as_ref(), &object);
    Plan {
        secrets,
        snapshot,
        config_maps,
        gang_objects,
        gang,
        jobset: PlannedJobSet {
            object,
            action,
            frozen,
        },
        // Once there is a JobSet, they were said before.
        warnings: match observed.jobset {
            None => warnings,
            Some(_) => Vec::new(),
        },
        trace,
    }
}
