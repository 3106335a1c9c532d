//! Replicated jobs in roles, for frameworks whose pods are not all alike: each pod's index within its role, and where it
//! is reached.
//!
//! Knows no framework and no role.

use std::fmt::Display;

use serde_json::{Value, json};

use super::draft::{Draft, ReplicatedJob};
use super::resolve::RUNTIME_REF;
use super::{check, env};
use crate::api::names;
use crate::k8s::json::{self as k8s_json, list_mut};
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::upsert;

/// A replicated job whose pods are nodes in one role.
#[derive(Clone, Debug)]
pub(super) struct NodeGroup {
    pub(super) rjob: ReplicatedJob,
    pub(super) role: String,
    /// The container whose program plays the role; `None` where that cannot be told.
    pub(super) container: Option<String>,
    /// Index of its first pod among all pods of the role.
    first: i64,
}

/// Where a pod reads its index among the pods of its role.
enum Index {
    /// It is the only one of its replicated job.
    Fixed(i64),
    /// Its index within its Job.
    Pod,
    /// The index of its Job, which has no other pod.
    Job,
}

/// Lists the replicated jobs that have a role; `container` names the one whose program plays it, where that is known.
pub(super) fn of<'r>(
    draft: &Draft<'_>,
    role: impl Fn(&ReplicatedJob) -> Option<String>,
    container: impl Fn(&ReplicatedJob) -> Option<&'r str>,
) -> Vec<NodeGroup> {
    let mut groups: Vec<NodeGroup> = Vec::new();
    for rjob in &draft.rjobs {
        let Some(role) = role(rjob) else { continue };
        let before = groups.iter().filter(|group| group.role == role);
        groups.push(NodeGroup {
            first: before.map(|group| group.rjob.pods()).sum(),
            container: draft.spec(rjob.index).program(container(rjob)).map(str::to_owned),
            rjob: rjob.clone(),
            role,
        });
    }
    groups
}

impl NodeGroup {
    fn index(&self) -> Option<Index> {
        match (self.rjob.replicas, self.rjob.count) {
            (1, 1) => Some(Index::Fixed(self.first)),
            (1, _) if self.first == 0 => Some(Index::Pod),
            (_, 1) if self.first == 0 => Some(Index::Job),
            (0, _) | (_, 0) => Some(Index::Fixed(self.first)),
            _ => None,
        }
    }

    /// Makes the variable that tells a pod its index among the pods of its role.
    fn rank(&self) -> Value {
        match self.index() {
            Some(Index::Fixed(index)) => env::value(names::TRAINER_NODE_RANK, index),
            Some(Index::Pod) | None => env::field(names::TRAINER_NODE_RANK, names::RANK_FIELD_PATH),
            Some(Index::Job) => env::field(names::TRAINER_NODE_RANK, names::JOB_INDEX_FIELD_PATH),
        }
    }

    /// Tells what the variable of [`NodeGroup::rank`] comes from.
    fn rank_reason(&self) -> &'static str {
        match self.index() {
            Some(Index::Fixed(_)) => "the only pod of its replicated job",
            Some(Index::Pod) | None => "the pod's index within its Job",
            Some(Index::Job) => "the index of the pod's Job, which has no other pod",
        }
    }

    /// Gives the DNS name of the pod itself, in terms of the variable of [`NodeGroup::rank`].
    pub(super) fn own_host(&self, draft: &Draft<'_>) -> String {
        let own = format!("$({})", names::TRAINER_NODE_RANK);
        let host = |replica: &dyn Display, pod: &dyn Display| draft.host(&self.rjob, replica, pod);
        match self.index() {
            Some(Index::Fixed(_)) => host(&0, &0),
            Some(Index::Pod) | None => host(&0, &own),
            Some(Index::Job) => host(&own, &0),
        }
    }
}

/// Lists the DNS names of the pods of a role, by their index.
pub(super) fn hosts(draft: &Draft<'_>, groups: &[NodeGroup], role: &str) -> Vec<String> {
    groups
        .iter()
        .filter(|group| group.role == role)
        .flat_map(|group| draft.hosts(&group.rjob))
        .collect()
}

/// Lists the addresses of the pods of a role, all at one port.
pub(super) fn addresses(draft: &Draft<'_>, groups: &[NodeGroup], role: &str, port: i32) -> Vec<String> {
    let mut hosts = hosts(draft, groups, role);
    for host in &mut hosts {
        *host = format!("{host}:{port}");
    }
    hosts
}

/// Puts the index of the pod, and behind it further variables, in front of all others into the container of a role, so
/// that any of those may refer to them; opens ports.
pub(super) fn put(
    draft: &mut Draft<'_>,
    group: &NodeGroup,
    env: &[Value],
    ports: impl IntoIterator<Item = i32>,
) {
    let Some(container) = group.container.as_deref() else {
        return;
    };
    let rank = format!(
        "replicatedJobs[{}].template.spec.template.spec.containers[{container}].env[{}]",
        group.rjob.name,
        names::TRAINER_NODE_RANK
    );
    draft.because(rank, || group.rank_reason().to_owned());
    if let Some(container) = draft.container_mut(group.rjob.index, container) {
        env::put_first(container, std::iter::once(&group.rank()).chain(env));
        for port in ports {
            upsert::port(list_mut(container, "ports"), json!({"containerPort": port}));
        }
    }
}

/// Tells whether the runtime's template says itself when the run ends well.
pub(super) fn has_success_policy(draft: &Draft<'_>) -> bool {
    k8s_json::at(&draft.jobset, &["spec", "successPolicy"]).is_some()
}

/// Lets the run end well with some of the replicated jobs; JobSet then ends the others.
pub(super) fn succeed_with(draft: &mut Draft<'_>, deciding: &[&NodeGroup], why: &str) {
    if deciding.is_empty() || deciding.len() == draft.rjobs.len() || has_success_policy(draft) {
        return;
    }
    for field in ["operator", "targetReplicatedJobs"] {
        draft.because(format!("successPolicy.{field}"), || why.to_owned());
    }
    let targets: Vec<&str> = deciding.iter().map(|group| group.rjob.name.as_str()).collect();
    let success = json!({"operator": "All", "targetReplicatedJobs": targets});
    k8s_json::object_mut(&mut draft.jobset, &["spec"]).insert("successPolicy".to_owned(), success);
}

/// Checks that each pod can know its index, and that the ports are free in it.
pub(super) fn check(
    draft: &Draft<'_>,
    policy: &str,
    groups: &[NodeGroup],
    ports: impl Fn(&NodeGroup) -> Vec<i32>,
    problems: &mut Problems,
) {
    for group in groups {
        let NodeGroup { rjob, role, .. } = group;
        if group.index().is_none() {
            let message = format!(
                "the runtime's mlPolicy.{policy}: the pods of replicated job {:?} ({} x {}, role {role:?}) cannot know \
                 their index; give each role one replicated job with replicas 1, and its number of pods as parallelism",
                rjob.name, rjob.replicas, rjob.count
            );
            problems.push(Problem::invalid(RUNTIME_REF, message));
        }
        for port in ports(group) {
            let container = group.container.as_deref().unwrap_or_default();
            check::port_is_free(draft, policy, rjob, container, port, problems);
        }
    }
}
