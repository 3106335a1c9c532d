//! How many pods each replicated job has.

use serde_json::{Value, json};

use super::draft::{Draft, Role};
use crate::k8s::json as k8s_json;

/// Settles the counts: the runtime's parallelism, the policy's `numNodes` for what trains, the job's own `numNodes`
/// for the first of those.
pub(super) fn settle(draft: &mut Draft<'_>) {
    let policy = draft.runtime.spec.ml_policy.as_ref();
    if let Some(policy) = policy {
        let nodes = i64::from(policy.num_nodes.unwrap_or(1)).max(1);
        for set in draft.sets.iter_mut().filter(|set| set.role == Role::Trainer) {
            set.count = nodes;
        }
    }
    let wanted = draft
        .job
        .spec
        .trainer
        .as_ref()
        .and_then(|trainer| trainer.num_nodes);
    if let (Some(wanted), Some(set)) = (
        wanted,
        draft.sets.iter_mut().find(|set| set.role == Role::Trainer),
    ) {
        set.count = i64::from(wanted).max(0);
    }
    for set in draft.sets.iter_mut().filter(|set| set.role != Role::Other) {
        set.replicas = 1;
    }
}

/// Settles the counts where a job's nodes are the pods of one replicated job only: those that the runtime or the job
/// asks for, or 1 where it trains. The others keep the runtime's parallelism.
pub(super) fn settle_nodes(draft: &mut Draft<'_>, nodes: Option<usize>) {
    for set in draft.sets.iter_mut().filter(|set| set.role != Role::Other) {
        set.replicas = 1;
    }
    let wanted = draft.job.num_nodes().map(|nodes| nodes.max(0));
    let policy = draft.runtime.spec.ml_policy.as_ref().and_then(|policy| policy.num_nodes);
    let Some(set) = nodes.and_then(|index| draft.sets.get_mut(index)) else {
        return;
    };
    let default = (set.role == Role::Trainer).then_some(1);
    if let Some(count) = wanted.or(policy.map(|nodes| i64::from(nodes).max(1))).or(default) {
        set.count = count;
        set.replicas = 1;
    }
}

/// Writes the counts into the JobSet: parallelism and completions are always equal.
pub(super) fn write(draft: &mut Draft<'_>) {
    for set in draft.sets.clone() {
        let why = match draft.job.num_nodes() {
            Some(nodes) if set.role == Role::Trainer && nodes.max(0) == set.count => "spec.trainer.numNodes",
            _ if set.role == Role::Trainer && draft.runtime.spec.ml_policy.is_some() => "the runtime's mlPolicy.numNodes",
            _ => "the runtime's parallelism, completions follow it",
        };
        draft.because(format!("replicatedJobs[{}].template.spec", set.name), || {
            why.to_owned()
        });
        let Some(rjob) = draft.replicated_job_mut(set.index) else {
            continue;
        };
        let spec = k8s_json::object_mut(rjob, &["template", "spec"]);
        spec.insert("parallelism".to_owned(), Value::from(set.count));
        spec.insert("completions".to_owned(), Value::from(set.count));
        if rjob.get("replicas").map_or(set.role != Role::Other, |old| *old != json!(set.replicas)) {
            k8s_json::object_mut(rjob, &[]).insert("replicas".to_owned(), json!(set.replicas));
        }
    }
}
