//! How many pods each replicated job has.

use serde_json::{Value, json};

use super::draft::{Draft, ReplicatedJob};
use super::replicated_job;
use crate::k8s::json as k8s_json;
use crate::k8s::path::FieldPath;

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
        for rjob in draft.rjobs.iter_mut().filter(|rjob| rjob.trains()) {
            (rjob.count, rjob.count_why) = (nodes, FROM_POLICY);
        }
    }
    let first = draft.rjobs.iter_mut().find(|rjob| rjob.trains());
    if let (Some(wanted), Some(rjob)) = (draft.job.num_nodes(), first) {
        (rjob.count, rjob.count_why) = (wanted.max(0), FROM_JOB);
    }
    for rjob in draft.rjobs.iter_mut().filter(|rjob| rjob.section.is_some()) {
        rjob.replicas = 1;
    }
}

/// Returns the number of pods of each Job of a replicated job that the runtime asks for: the policy's `numNodes` where it
/// trains, else its parallelism.
pub(super) fn of_runtime(draft: &Draft<'_>, rjob: &ReplicatedJob) -> i64 {
    match &draft.runtime.spec.ml_policy {
        Some(policy) if rjob.trains() => i64::from(policy.num_nodes.unwrap_or(1)).max(1),
        _ => draft.runtime_spec(rjob.index).parallelism().unwrap_or(1).max(1),
    }
}

/// Settles the counts where a job's nodes are the pods of one replicated job only: those that the runtime or the job
/// asks for, or 1 where it trains. The others keep the runtime's parallelism.
pub(super) fn settle_nodes(draft: &mut Draft<'_>, nodes: Option<usize>) {
    for rjob in draft.rjobs.iter_mut().filter(|rjob| rjob.section.is_some()) {
        rjob.replicas = 1;
    }
    let policy = draft
        .runtime
        .spec
        .ml_policy
        .as_ref()
        .and_then(|policy| policy.num_nodes);
    let wanted = draft.job.num_nodes().map(|nodes| (nodes.max(0), FROM_JOB));
    let policy = policy.map(|nodes| (i64::from(nodes).max(1), FROM_POLICY));
    let Some(rjob) = nodes.and_then(|index| draft.rjobs.get_mut(index)) else {
        return;
    };
    let default = (rjob.trains()).then_some((1, FROM_POLICY));
    if let Some(count) = wanted.or(policy).or(default) {
        (rjob.count, rjob.count_why) = count;
        rjob.replicas = 1;
    }
}

/// Writes the counts into the JobSet: parallelism and completions are always equal.
pub(super) fn write(draft: &mut Draft<'_>) {
    for rjob in draft.rjobs.clone() {
        let path = || {
            FieldPath::new("replicatedJobs")
                .key(&rjob.name)
                .field("template.spec")
        };
        draft.because(|_| path(), rjob.count_why);
        let item = draft.rjob_mut(rjob.index);
        let spec = replicated_job::job_spec_mut(item);
        spec.insert("parallelism".to_owned(), Value::from(rjob.count));
        spec.insert("completions".to_owned(), Value::from(rjob.count));
        if item
            .get("replicas")
            .map_or(rjob.section.is_some(), |old| *old != json!(rjob.replicas))
        {
            k8s_json::object_mut(item, &[]).insert("replicas".to_owned(), json!(rjob.replicas));
        }
    }
}
