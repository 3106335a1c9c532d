//! A job and a JobSet to test with.

use jiff::Timestamp;
use serde_json::{Value, json};

/// A job of 2026-01-01 00:00 with this spec, beside its runtime, and this status.
pub(super) fn job(spec: Value, status: Value) -> Value {
    let mut job = json!({
        "metadata": {"name": "digits", "namespace": "ml", "uid": "job-uid", "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"runtimeRef": {"name": "torch"}},
    });
    if let (Some(spec), Value::Object(more)) = (job["spec"].as_object_mut(), spec) {
        spec.extend(more);
    }
    if !status.is_null() {
        job["status"] = status;
    }
    job
}

/// The job's JobSet with this `suspend` and this status.
pub(super) fn jobset(suspend: Value, status: Value) -> Value {
    json!({
        "metadata": {"name": "digits", "namespace": "ml", "uid": "set-uid", "ownerReferences": [{
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "digits", "uid": "job-uid",
            "controller": true}]},
        "spec": {"suspend": suspend},
        "status": status,
    })
}

/// A condition as it is stored.
pub(super) fn condition(kind: &str, status: &str, reason: &str, message: &str, at: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": at})
}

/// The counts of one replicated job.
pub(super) fn counts(name: &str, active: i32, succeeded: i32) -> Value {
    json!({"name": name, "ready": active, "succeeded": succeeded, "failed": 0, "active": active, "suspended": 0})
}

pub(super) fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}
