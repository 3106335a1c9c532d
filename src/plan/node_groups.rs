//! Replicated jobs in roles, for frameworks whose pods are not all alike: each pod's index within its role, and where it
//! is reached.
//!
//! Knows no framework and no role.

use super::draft::{ContainerId, Draft, ReplicatedJob};
use super::env::{self, Variable};
use super::injection::{ContainerInjection, Success};
use super::resolve::RUNTIME_REF;
use crate::api::names;
use crate::k8s::json as k8s_json;
use crate::k8s::problem::{Problem, Problems};

/// A replicated job whose pods are nodes in one role.
#[derive(Clone, Debug)]
pub(super) struct NodeGroup {
    pub(super) rjob: ReplicatedJob,
    pub(super) role: String,
    /// The container whose program plays the role.
    pub(super) container: ContainerId,
    index: Index,
}

/// Where a pod reads its index among the pods of its role.
#[derive(Clone, Copy, Debug)]
enum Index {
    /// It is the only one of its replicated job.
    Fixed(i64),
    /// Its index within its Job.
    Pod,
    /// The index of its Job, which has no other pod.
    Job,
}

impl Index {
    /// Finds where the pods of a replicated job read their index; `first` is that of its first pod.
    fn of(rjob: &ReplicatedJob, first: i64) -> Option<Self> {
        match (rjob.replicas, rjob.count) {
            (1, 1) => Some(Self::Fixed(first)),
            (1, _) if first == 0 => Some(Self::Pod),
            (_, 1) if first == 0 => Some(Self::Job),
            (0, _) | (_, 0) => Some(Self::Fixed(first)),
            _ => None,
        }
    }
}

/// Lists the replicated jobs that have a role, and refuses those whose pods cannot know their index.
///
/// `container` names the one whose program plays the role, where the policy says so. One whose program is not known is
/// left out: the rules of the runtime refuse it.
pub(super) fn find<'r>(
    draft: &Draft<'_>,
    policy: &str,
    role: impl Fn(&ReplicatedJob) -> Option<String>,
    container: impl Fn(&ReplicatedJob) -> Option<&'r str>,
    problems: &mut Problems,
) -> Vec<NodeGroup> {
    let mut groups: Vec<NodeGroup> = Vec::new();
    for rjob in &draft.rjobs {
        let Some(role) = role(rjob) else { continue };
        let program = draft.spec(rjob.index).program(container(rjob));
        let Some(container) = program.and_then(|name| draft.find(rjob.index, name)) else {
            continue;
        };
        let before = groups.iter().filter(|group| group.role == role);
        let index = Index::of(rjob, before.map(|group| group.rjob.pods()).sum());
        if index.is_none() {
            let message = format!(
                "the runtime's mlPolicy.{policy}: the pods of replicated job {:?} ({} x {}, role {role:?}) cannot know \
                 their index; give each role one replicated job with replicas 1, and its number of pods as parallelism",
                rjob.name, rjob.replicas, rjob.count
            );
            problems.push(Problem::invalid(RUNTIME_REF, message));
        }
        groups.push(NodeGroup {
            rjob: rjob.clone(),
            role,
            container,
            index: index.unwrap_or(Index::Pod),
        });
    }
    groups
}

impl NodeGroup {
    /// Makes the variable with a pod's index among the pods of its role.
    fn rank(&self) -> Variable {
        const NAME: &str = names::TRAINER_NODE_RANK;
        match self.index {
            Index::Fixed(index) => env::value(NAME, index, "the only pod of its replicated job"),
            Index::Pod => env::field(NAME, names::RANK_FIELD_PATH, "the pod's index within its Job"),
            Index::Job => env::field(
                NAME,
                names::JOB_INDEX_FIELD_PATH,
                "the index of the pod's Job, which has no other pod",
            ),
        }
    }

    /// Returns the DNS name of the pod itself, in terms of the variable with its index.
    pub(super) fn own_host(&self, draft: &Draft<'_>) -> String {
        let own = format!("$({})", names::TRAINER_NODE_RANK);
        match self.index {
            Index::Fixed(_) => draft.host(&self.rjob, 0, 0),
            Index::Pod => draft.host(&self.rjob, 0, own),
            Index::Job => draft.host(&self.rjob, own, 0),
        }
    }

    /// Puts the pod's index, and behind it further variables, in front of all others, so that those may refer to them;
    /// opens ports.
    pub(super) fn injection(&self, env: Vec<Variable>, ports: Vec<i32>) -> (ContainerId, ContainerInjection) {
        let injection = ContainerInjection {
            first: std::iter::once(self.rank()).chain(env).collect(),
            ports,
            ..ContainerInjection::default()
        };
        (self.container, injection)
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

/// Reports whether the runtime's template says itself when the run ends well.
pub(super) fn has_success_policy(draft: &Draft<'_>) -> bool {
    k8s_json::at(&draft.jobset, &["spec", "successPolicy"]).is_some()
}

/// Lets the run end well with some of the replicated jobs, unless they are all, or the template says when it ends.
pub(super) fn success(draft: &Draft<'_>, deciding: &[&NodeGroup], why: &'static str) -> Option<Success> {
    if deciding.is_empty() || deciding.len() == draft.rjobs.len() || has_success_policy(draft) {
        return None;
    }
    let names = deciding.iter().map(|group| group.rjob.name.clone()).collect();
    Some(Success::ReplicatedJobs(names, why))
}
