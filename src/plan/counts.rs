//! How many pods each replicated job has.

use serde_json::{Value, json};

use super::draft::{Draft, Role};
use crate::k8s::json as k8s_json;

/// Why a count is the job's own wish.
pub(super) const FROM_JOB: &str = "spec.trainer.numNodes";
/// Why a count is the runtime's.
pub(super) const FROM_POLICY: &str = "the runtime's mlPolicy.numNodes";

/// Settles the counts: the runtime's parallelism, the policy's `numNodes` for what trains, the job's own `numNodes`
/// for the first of those.
pub(super) fn settle(draft: &mut Draft<'_>) {
    let policy = draft.runtime.spec.ml_policy.as_ref();
    if let Some(policy) = policy {
        let nodes = i64::from(policy.num_nodes.unwrap_or(1)).max(1);
        for set in draft.sets.iter_mut().filter(|set| set.role == Role::Trainer) {
            (set.count, set.count_why) = (nodes, FROM_POLICY);
        }
    }
    let first = draft.sets.iter_mut().find(|set| set.role == Role::Trainer);
    if let (Some(wanted), Some(set)) = (draft.job.num_nodes(), first) {
        (set.count, set.count_why) = (wanted.max(0), FROM_JOB);
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
    let policy = draft
        .runtime
        .spec
        .ml_policy
        .as_ref()
        .and_then(|policy| policy.num_nodes);
    let wanted = draft.job.num_nodes().map(|nodes| (nodes.max(0), FROM_JOB));
    let policy = policy.map(|nodes| (i64::from(nodes).max(1), FROM_POLICY));
    let Some(set) = nodes.and_then(|index| draft.sets.get_mut(index)) else {
        return;
    };
    let default = (set.role == Role::Trainer).then_some((1, FROM_POLICY));
    if let Some(count) = wanted.or(policy).or(default) {
        (set.count, set.count_why) = count;
        set.replicas = 1;
    }
}

/// Writes the counts into the JobSet: parallelism and completions are always equal.
pub(super) fn write(draft: &mut Draft<'_>) {
    for set in draft.sets.clone() {
        draft.because(format!("replicatedJobs[{}].template.spec", set.name), || {
            set.count_why.to_owned()
        });
        let Some(rjob) = draft.replicated_job_mut(set.index) else {
            continue;
        };
        let spec = k8s_json::object_mut(rjob, &["template", "spec"]);
        spec.insert("parallelism".to_owned(), Value::from(set.count));
        spec.insert("completions".to_owned(), Value::from(set.count));
        if rjob
            .get("replicas")
            .map_or(set.role != Role::Other, |old| *old != json!(set.replicas))
        {
            k8s_json::object_mut(rjob, &[]).insert("replicas".to_owned(), json!(set.replicas));
        }
    }
}
