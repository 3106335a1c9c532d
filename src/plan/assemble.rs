//! What every JobSet gets: its name, its owner, and whether it is suspended.

use serde_json::{Map, Value, json};

use super::draft::Draft;
use super::{ownership, replicated_job};
use crate::api::names;
use crate::k8s::json as k8s_json;

/// Completes the JobSet. `digest` is that of the runtime's snapshot.
pub(super) fn complete(draft: &mut Draft<'_>, digest: &str) {
    let job = draft.job;
    let Value::Object(draft_jobset) = std::mem::take(&mut draft.jobset) else {
        return;
    };
    let mut jobset = Map::from_iter([
        ("apiVersion".to_owned(), json!(names::JOBSET_API_VERSION)),
        ("kind".to_owned(), json!(names::JOBSET)),
        (
            "metadata".to_owned(),
            json!({"name": job.metadata.name, "namespace": job.metadata.namespace}),
        ),
    ]);
    for (key, value) in draft_jobset {
        match (jobset.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => old.extend(new),
            (_, value) => {
                jobset.insert(key, value);
            }
        }
    }
    let mut jobset = Value::Object(jobset);
    let metadata = k8s_json::object_mut(&mut jobset, &["metadata"]);
    metadata.insert("ownerReferences".to_owned(), json!([ownership::reference(job)]));
    k8s_json::object_mut(&mut jobset, &["metadata", "annotations"])
        .insert(names::SNAPSHOT_DIGEST_ANNOTATION.to_owned(), json!(digest));

    let spec = k8s_json::object_mut(&mut jobset, &["spec"]);
    if spec.get("replicatedJobs").is_some_and(k8s_json::is_empty) {
        spec.shift_remove("replicatedJobs");
    }
    leave_out_defaults(spec);
    match job.spec.suspend {
        Some(suspend) => spec.insert("suspend".to_owned(), json!(suspend)),
        None => spec.shift_remove("suspend"),
    };
    draft.jobset = jobset;
}

/// Leaves out what JobSet's schema sets again by itself, as upstream's types do: objects made by either are equal.
fn leave_out_defaults(spec: &mut Map<String, Value>) {
    if let Some(Value::Object(coordinator)) = spec.get_mut("coordinator") {
        coordinator.retain(|field, value| !(field.ends_with("Index") && *value == 0));
    }
    let jobs = spec.get_mut("replicatedJobs").and_then(Value::as_array_mut);
    for job in jobs.into_iter().flatten() {
        let Some(pod) = replicated_job::find_pod_mut(job) else {
            continue;
        };
        for list in ["containers", "initContainers"] {
            let containers = pod.get_mut(list).and_then(Value::as_array_mut);
            let ports = containers
                .into_iter()
                .flatten()
                .filter_map(|c| c.get_mut("ports")?.as_array_mut());
            for port in ports.flatten().filter_map(Value::as_object_mut) {
                port.retain(|field, value| field != "protocol" || value != "TCP");
            }
        }
    }
}
