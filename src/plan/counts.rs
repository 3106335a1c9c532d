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

/// Writes the counts into the JobSet: parallelism and completions are always equal.
pub(super) fn write(draft: &mut Draft<'_>) {
    for set in draft.sets.clone() {
        let why = match (
            set.role,
            draft.job.spec.trainer.as_ref().and_then(|t| t.num_nodes),
        ) {
            (Role::Trainer, Some(_)) => "spec.trainer.numNodes",
            (Role::Trainer, None) if draft.runtime.spec.ml_policy.is_some() => {
                "the runtime's mlPolicy.numNodes"
            }
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
        if set.role != Role::Other {
            k8s_json::object_mut(rjob, &[]).insert("replicas".to_owned(), json!(1));
        }
    }
}
