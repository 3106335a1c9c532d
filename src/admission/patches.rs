//! When `spec.runtimePatches` may change: never while pods run.

use serde_json::Value;

use crate::api::trainjob::RuntimePatch;
use crate::api::{JobSet, TrainJob};
use crate::k8s::problem::Problem;

const FIELD: &str = "spec.runtimePatches";

/// Refuses changed patches if the job runs before and after the change, or while it still has pods.
pub(super) fn check_change(old: &TrainJob, new: &TrainJob, jobset: Option<&JobSet>) -> Vec<Problem> {
    if same(old.runtime_patches(), new.runtime_patches()) {
        return Vec::new();
    }
    let mut found = Vec::new();
    if !old.suspended() && !new.suspended() {
        found.push(Problem::invalid(
            FIELD,
            "patches cannot change while the job runs; suspend it first (spec.suspend: true)",
        ));
    }
    let status = jobset.and_then(|jobset| jobset.status.as_ref());
    for job in status.into_iter().flat_map(|s| &s.replicated_jobs_status) {
        if job.active > 0 {
            found.push(Problem::invalid(
                FIELD,
                format!(
                    "patches cannot change while replicated job {:?} still has {} active; wait until its pods are gone",
                    job.name, job.active
                ),
            ));
        }
    }
    found
}

/// Reports whether two lists of patches are equal, apart from their times.
fn same(old: &[RuntimePatch], new: &[RuntimePatch]) -> bool {
    old.len() == new.len() && old.iter().zip(new).all(|(a, b)| same_patch(a, b))
}

fn same_patch(a: &RuntimePatch, b: &RuntimePatch) -> bool {
    let spec = |patch: &RuntimePatch| patch.training_runtime_spec.as_ref().map(|s| s.value().clone());
    a.manager == b.manager && spec(a).unwrap_or(Value::Null) == spec(b).unwrap_or(Value::Null)
}
