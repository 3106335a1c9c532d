//! The PriorityClasses of a gang: each with where it is named, and whether it exists.

use std::collections::BTreeSet;

use crate::api::names;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::inputs::{ClusterFacts, Known};
use crate::plan::replicated_job::ReplicatedJobSpec;
use crate::plan::resolve::RUNTIME_REF;

/// Lists the PriorityClasses that the pods of replicated jobs name, in order, each with where.
pub(in crate::plan) fn of_pods(rjobs: &[ReplicatedJobSpec<'_>]) -> Vec<(String, String)> {
    let class = |rjob: &ReplicatedJobSpec<'_>| {
        let class = rjob.priority_class()?;
        Some((class.to_owned(), format!("replicated job {:?}", rjob.name())))
    };
    rjobs.iter().filter_map(class).collect()
}

/// Refuses PriorityClasses that do not exist.
pub(super) fn check(classes: &[(String, String)], facts: &ClusterFacts, problems: &mut Problems) {
    let mut refused = BTreeSet::new();
    for (class, place) in classes {
        let exists = names::SYSTEM_PRIORITY_CLASSES.contains(&class.as_str())
            || facts.priority_classes.contains_key(class);
        if !exists && refused.insert(class) {
            let message = format!(
                "PriorityClass {class:?}, which {place} names, does not exist; create it, or name one that exists"
            );
            problems.push(Problem::invalid(RUNTIME_REF, message));
        }
    }
}

/// Warns of PriorityClasses that could not be looked up.
pub(super) fn warnings(classes: &[(String, String)], facts: &ClusterFacts) -> Vec<String> {
    let warning = |(class, _): &(String, String)| match facts.priority_classes.get(class)? {
        Known::Exists => None,
        Known::Unknown(why) => Some(format!(
            "whether PriorityClass {class:?} exists could not be looked up: {why}"
        )),
    };
    classes.iter().filter_map(warning).collect()
}
