//! What must be known of the cluster to count what a gang requests.

use std::collections::BTreeSet;

use super::draft::Draft;
use super::inputs::Inputs;
use super::{gang_schedulers, patches, resolve};
use crate::api::names;
use crate::k8s::problem::Problems;

/// Facts that a plan looks at besides those that every job needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needed {
    /// Whether the job has a gang, so that the LimitRanges of its namespace matter.
    pub gang: bool,
    /// RuntimeClasses of its pods.
    pub runtime_classes: BTreeSet<String>,
    /// PriorityClasses that must exist.
    pub priority_classes: BTreeSet<String>,
}

/// Tells which facts a plan of these inputs looks at; nothing where no plan can be made.
pub fn needed(inputs: &Inputs<'_>) -> Needed {
    // Most jobs have no gang; nothing more is read for them.
    let speaks_of_gangs = match inputs.observed.snapshot() {
        Some(snapshot) => {
            let yaml = snapshot
                .data
                .as_ref()
                .and_then(|data| data.get(names::SNAPSHOT_KEY));
            yaml.is_some_and(|yaml| yaml.contains("podGroupPolicy"))
        }
        None => inputs
            .runtime
            .is_some_and(|runtime| runtime.spec.pod_group_policy.is_some()),
    };
    if !speaks_of_gangs {
        return Needed::default();
    }
    let Ok(resolved) = resolve::resolve(inputs) else {
        return Needed::default();
    };
    let Some(scheduler) = gang_schedulers::of(resolved.runtime.spec.pod_group_policy.as_ref()) else {
        return Needed::default();
    };
    let mut draft = Draft::new(inputs.job, &resolved.runtime, inputs.config, false);
    let mut problems = Problems::default();
    patches::check(&draft, &mut problems);
    if problems.is_empty() {
        patches::apply(&mut draft);
    }
    let rjobs = draft.specs();
    Needed {
        gang: true,
        runtime_classes: rjobs
            .iter()
            .filter_map(|rjob| rjob.runtime_class())
            .map(str::to_owned)
            .collect(),
        priority_classes: scheduler
            .priority_classes(&rjobs)
            .into_iter()
            .map(|(class, _)| class)
            .collect(),
    }
}
