//! What Kueue takes a job for, where that is not what is rendered.
//!
//! Kueue renders a TrainJob by rules of its own, which know neither roles nor the policies of this program, and
//! reserves quota for that. Source of the rules: Kubeflow Trainer, which Kueue links.

use super::draft::{Draft, Role};
use super::frameworks::Framework;
use crate::api::names;

/// Warns where Kueue reserves quota for another number of pods, or other resources, than will run. Counts are settled.
pub(super) fn warn(draft: &mut Draft<'_>, framework: &dyn Framework) {
    let labels = draft.job.metadata.labels.as_ref();
    if !labels.is_some_and(|labels| labels.contains_key(names::KUEUE_QUEUE_LABEL)) {
        return;
    }
    let mut warnings = Vec::new();
    for (at, set) in draft.sets.iter().enumerate() {
        let counted = counted(draft, at);
        if counted != set.pods() {
            warnings.push(format!(
                "Kueue reserves quota for {counted} pods of replicated job {:?}, but {} will run; label only the \
                 replicated job whose pods are the nodes {}={}, and set the others' parallelism in the runtime",
                set.name,
                set.pods(),
                names::ANCESTOR_LABEL,
                names::TRAINER
            ));
        }
        let resources = draft.job.spec.trainer.as_ref().and_then(|t| t.resources_per_node.as_ref());
        let takes = framework.takes(draft, set).resources;
        if resources.is_some() && takes != (set.role == Role::Trainer) && draft.container(set.index, names::NODE).is_some()
        {
            warnings.push(format!(
                "Kueue {} spec.trainer.resourcesPerNode for replicated job {:?}, the pods {}; set the resources in \
                 the runtime instead",
                if takes { "does not count" } else { "counts" },
                set.name,
                if takes { "get them" } else { "do not get them" },
            ));
        }
    }
    draft.warnings.extend(warnings);
}

/// Gives the number of pods that Kueue takes a replicated job for; the template has the runtime's own counts still.
fn counted(draft: &Draft<'_>, at: usize) -> i64 {
    let set = &draft.sets[at];
    let job = draft.replicated_jobs().get(set.index);
    let parallelism = job
        .and_then(|job| job.pointer("/template/spec/parallelism"))
        .and_then(serde_json::Value::as_i64)
        .unwrap_or(1)
        .max(1);
    let replicas = job.and_then(|job| job.get("replicas")).and_then(serde_json::Value::as_i64);
    if set.role != Role::Trainer {
        let replicas = if set.role == Role::Other { replicas.unwrap_or(1) } else { 1 };
        return parallelism.saturating_mul(replicas);
    }
    let first = draft.trainer().is_some_and(|trainer| trainer.index == set.index);
    match (draft.job.num_nodes().filter(|_| first), &draft.runtime.spec.ml_policy) {
        (Some(nodes), _) => nodes,
        (None, Some(policy)) => i64::from(policy.num_nodes.unwrap_or(1)).max(1),
        (None, None) => parallelism,
    }
}
