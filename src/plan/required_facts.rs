//! Which facts of the cluster a plan depends on: those by which the requests of a gang are counted.
//!
//! Patches cannot name other classes, so the runtime alone decides.

use std::collections::BTreeSet;

use super::gang_schedulers;
use super::inputs::Runtime;
use super::replicated_job::ReplicatedJobSpec;

/// What a plan of a job with a gang depends on, beside the LimitRanges of its namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequiredFacts {
    /// RuntimeClasses of its pods.
    pub runtime_classes: BTreeSet<String>,
    /// PriorityClasses that must exist.
    pub priority_classes: BTreeSet<String>,
}

/// Lists the facts that matter to jobs of a runtime; none where their pods are placed one by one.
pub(super) fn of(runtime: &Runtime) -> Option<RequiredFacts> {
    let scheduler = gang_schedulers::of(runtime.spec.pod_group_policy.as_ref())?;
    let rjobs: Vec<ReplicatedJobSpec<'_>> = runtime.replicated_jobs().collect();
    let runtime_classes = rjobs.iter().filter_map(|rjob| rjob.runtime_class());
    let priority_classes = scheduler.priority_classes(&rjobs).into_iter();
    Some(RequiredFacts {
        runtime_classes: runtime_classes.map(str::to_owned).collect(),
        priority_classes: priority_classes.map(|(class, _)| class).collect(),
    })
}
