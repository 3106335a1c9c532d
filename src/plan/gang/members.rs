//! Which pods make the gang: those that can wait for a place at one time.
//!
//! JobSet makes the pods of a replicated job only when what it waits for is ready or has ended, so a pod that another
//! member waits for cannot wait for that member to be placed. The gang is made of the pods that compute together, and
//! of what waits for none of them.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::k8s::json as k8s_json;
use crate::plan::draft::Draft;
use crate::plan::framework::Framework;

/// The replicated jobs, by whether their pods belong to the gang.
pub(super) struct Members {
    /// Whether all members come at one time, as they wait for the same.
    pub(super) together: bool,
    /// Indexes of the members.
    pub(super) inside: Vec<usize>,
    /// Indexes of the others, each with the reason.
    pub(super) outside: Vec<(usize, String)>,
}

/// Sorts the replicated jobs.
pub(super) fn of(draft: &Draft<'_>, framework: &dyn Framework) -> Members {
    let waits = Waits::of(draft);
    let all = 0..draft.rjobs.len();
    let mut nodes: Vec<usize> = all
        .clone()
        .filter(|index| framework.is_node(draft, &draft.rjobs[*index]))
        .collect();
    if nodes.is_empty() {
        nodes = all
            .clone()
            .filter(|index| waits.directly_for(*index).is_empty())
            .collect();
    }
    let name = |index: usize| draft.rjobs[index].name.as_str();
    let needed_by = |index: usize| nodes.iter().find(|node| waits.of_all(**node).contains(&index));
    let rest: BTreeSet<usize> = all.clone().filter(|index| needed_by(*index).is_none()).collect();
    let mut members = Members {
        together: true,
        inside: Vec::new(),
        outside: Vec::new(),
    };
    for index in all {
        if let Some(node) = needed_by(index) {
            members
                .outside
                .push((index, format!("{} starts only after it", name(*node))));
        } else if let Some(first) = waits.of_all(index).intersection(&rest).next() {
            members
                .outside
                .push((index, format!("it starts only after {}", name(*first))));
        } else {
            members.inside.push(index);
        }
    }
    let depends = |index: &usize| draft.spec(*index).depends_on();
    let mut waited_for = members.inside.iter().map(depends);
    if let Some(first) = waited_for.next() {
        members.together = waited_for.all(|other| other == first);
    }
    members
}

/// Which replicated jobs each of them waits for.
struct Waits(Vec<Vec<usize>>);

impl Waits {
    /// Reads `dependsOn`, and the startup policy that starts one replicated job after the other.
    fn of(draft: &Draft<'_>) -> Self {
        let in_order = ["spec", "startupPolicy", "startupPolicyOrder"];
        let in_order = k8s_json::text(&draft.jobset, &in_order) == Some("InOrder");
        let place = |other: &Value| {
            draft
                .rjobs
                .iter()
                .position(|rjob| k8s_json::name(other) == Some(&rjob.name))
        };
        let waits = draft.rjobs.iter().map(|rjob| {
            let before = rjob.index.checked_sub(1).filter(|_| in_order);
            let depends = draft.spec(rjob.index).depends_on().iter().filter_map(place);
            before.into_iter().chain(depends).collect()
        });
        Self(waits.collect())
    }

    fn directly_for(&self, index: usize) -> &[usize] {
        self.0.get(index).map(Vec::as_slice).unwrap_or_default()
    }

    /// Gives all that a replicated job waits for, directly or not.
    fn of_all(&self, index: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let mut open = vec![index];
        while let Some(at) = open.pop() {
            open.extend(self.directly_for(at).iter().filter(|other| found.insert(**other)));
        }
        found
    }
}
