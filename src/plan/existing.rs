//! From the existing JobSet to the wanted one.
//!
//! Source of the rules: JobSet's webhook. `spec.suspend` may change at any time; labels, annotations, nodeSelector,
//! tolerations and schedulingGates of the Pod templates while the JobSet is suspended; nothing else ever.

use serde_json::{Map, Value, json};

use crate::api::{JobSet, TrainJob, names};
use crate::k8s::diff::{self, Unkeyed};
use crate::k8s::json as k8s_json;
use crate::k8s::path::FieldPath;

/// Fields of a Pod template that may change while the JobSet is suspended.
const MUTABLE: [(&[&str], &str); 5] = [
    (&["template", "spec", "template", "metadata"], "labels"),
    (&["template", "spec", "template", "metadata"], "annotations"),
    (&["template", "spec", "template", "spec"], "nodeSelector"),
    (&["template", "spec", "template", "spec"], "tolerations"),
    (&["template", "spec", "template", "spec"], "schedulingGates"),
];

/// How to bring the JobSet into its desired state.
#[derive(Clone, Debug, PartialEq)]
pub enum JobSetAction {
    /// Create it.
    Create,
    /// Nothing differs.
    Keep,
    /// Send this JSON merge patch, which holds only what differs.
    Patch(Value),
}

/// Decides on the action, and lists the fields that differ and can no longer change.
pub(super) fn reconcile(
    job: &TrainJob,
    existing: Option<&JobSet>,
    wanted: &Value,
) -> (JobSetAction, Vec<FieldPath>) {
    let Some(existing) = existing else {
        return (JobSetAction::Create, Vec::new());
    };
    if !job.suspended() && !existing.suspended() {
        return (JobSetAction::Keep, Vec::new());
    }
    let wanted_spec = wanted.get("spec").unwrap_or(&Value::Null);
    let mut patch = Map::new();
    if job.suspended() != existing.suspended() {
        patch.insert("suspend".to_owned(), json!(job.suspended()));
    }
    // On the way into suspension pods still run, so their templates wait until they are gone.
    if existing.suspended()
        && let Some(jobs) = updated_jobs(existing.spec.value(), wanted_spec)
    {
        patch.insert("replicatedJobs".to_owned(), jobs);
    }
    let mut action = json!({});
    if !patch.is_empty() {
        action["spec"] = Value::Object(patch);
    }
    if let Some(digest) = new_digest(existing, wanted) {
        action["metadata"]["annotations"] = json!({names::SNAPSHOT_DIGEST_ANNOTATION: digest});
    }
    let action = if k8s_json::is_empty(&action) {
        JobSetAction::Keep
    } else {
        JobSetAction::Patch(action)
    };
    (action, frozen(existing.spec.value(), wanted_spec))
}

/// Returns the digest of the wanted snapshot if the JobSet carries another one. One that carries none stays so.
fn new_digest<'w>(existing: &JobSet, wanted: &'w Value) -> Option<&'w str> {
    let carried = existing
        .metadata
        .annotations
        .as_ref()?
        .get(names::SNAPSHOT_DIGEST_ANNOTATION)?;
    let wanted = k8s_json::text(
        wanted,
        &["metadata", "annotations", names::SNAPSHOT_DIGEST_ANNOTATION],
    )?;
    (wanted != carried).then_some(wanted)
}

/// Returns the existing list of replicated jobs with the wanted values of the mutable fields; `None` if nothing changes.
fn updated_jobs(existing: &Value, wanted: &Value) -> Option<Value> {
    let mut jobs = k8s_json::list(existing, &["replicatedJobs"]).to_vec();
    let wanted = k8s_json::list(wanted, &["replicatedJobs"]);
    let mut changed = false;
    for job in &mut jobs {
        let Some(wanted) = k8s_json::name(job).and_then(|name| k8s_json::named(wanted, name)) else {
            continue;
        };
        for (path, field) in MUTABLE {
            let new = k8s_json::at(wanted, path)
                .and_then(|v| v.get(field))
                .filter(|v| !k8s_json::is_empty(v));
            let old = k8s_json::at(job, path)
                .and_then(|v| v.get(field))
                .filter(|v| !k8s_json::is_empty(v));
            if new == old {
                continue;
            }
            changed = true;
            let place = k8s_json::object_mut(job, path);
            match new {
                Some(new) => place.insert(field.to_owned(), new.clone()),
                None => place.shift_remove(field),
            };
        }
    }
    changed.then_some(Value::Array(jobs))
}

/// Lists the immutable fields in which the existing spec differs from the wanted one. Fields that only the existing one
/// has were set by defaults.
fn frozen(existing: &Value, wanted: &Value) -> Vec<FieldPath> {
    let (existing, wanted) = (without_mutable(existing), without_mutable(wanted));
    diff::differences(&existing, &wanted, Unkeyed::ByIndex)
        .into_iter()
        .filter(|found| found.change.is_material())
        .map(|found| FieldPath::new("spec").join(&found.path))
        .collect()
}

fn without_mutable(spec: &Value) -> Value {
    let mut spec = spec.clone();
    if let Some(fields) = spec.as_object_mut() {
        fields.shift_remove("suspend");
    }
    let jobs = spec.get_mut("replicatedJobs").and_then(Value::as_array_mut);
    for job in jobs.into_iter().flatten() {
        for (path, field) in MUTABLE {
            if let Some(place) = k8s_json::at_mut(job, path).and_then(Value::as_object_mut) {
                place.shift_remove(field);
            }
        }
    }
    spec
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A replicated job whose Pod template has this metadata, and a container with these fields.
    fn spec(metadata: Value, container: Value) -> Value {
        let mut named = json!({"name": "node"});
        for (field, value) in container.as_object().unwrap() {
            named[field] = value.clone();
        }
        let template = json!({"metadata": metadata, "spec": {"containers": [named]}});
        json!({"replicatedJobs": [{"name": "node", "template": {"spec": {"template": template}}}]})
    }

    fn frozen_paths(existing: &Value, wanted: &Value) -> Vec<String> {
        frozen(existing, wanted).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn quantities_that_the_webhook_of_jobset_rewrites_are_equal() {
        let resources = |cpu: Value| json!({"resources": {"requests": {"cpu": cpu}}});
        let existing = spec(json!({}), resources(json!("1")));
        assert_eq!(frozen(&existing, &spec(json!({}), resources(json!(1)))), []);
        assert_eq!(frozen(&existing, &spec(json!({}), resources(json!("1000m")))), []);
        assert_eq!(
            frozen_paths(&existing, &spec(json!({}), resources(json!(2)))),
            ["spec.replicatedJobs[node].template.spec.template.spec.containers[node].resources.requests.cpu"]
        );
    }

    #[test]
    fn zero_values_that_the_webhook_of_jobset_drops_are_equal() {
        let wanted = spec(
            json!({}),
            json!({"env": [{"name": "A", "value": ""}], "tty": false}),
        );
        let existing = spec(json!({}), json!({"env": [{"name": "A"}]}));
        assert_eq!(frozen(&existing, &wanted), []);
    }

    #[test]
    fn the_first_label_of_a_template_is_not_frozen() {
        let wanted = spec(json!({"labels": {"team": "a"}}), json!({}));
        let mut existing = spec(json!({}), json!({}));
        existing["replicatedJobs"][0]["template"]["spec"]["template"]
            .as_object_mut()
            .unwrap()
            .remove("metadata");
        assert_eq!(frozen(&existing, &wanted), []);
        assert!(updated_jobs(&existing, &wanted).is_some());
    }

    #[test]
    fn volumes_mounted_twice_are_told_apart_by_their_mount_paths() {
        let mounts = |paths: [&str; 2]| {
            let mounts = paths.map(|path| json!({"name": "data", "mountPath": path}));
            spec(json!({}), json!({"volumeMounts": mounts}))
        };
        assert_eq!(frozen(&mounts(["/a", "/b"]), &mounts(["/b", "/a"])), []);
        assert_eq!(
            frozen_paths(&mounts(["/a", "/b"]), &mounts(["/a", "/c"])),
            [
                "spec.replicatedJobs[node].template.spec.template.spec.containers[node].volumeMounts[/c]",
                "spec.replicatedJobs[node].template.spec.template.spec.containers[node].volumeMounts[/b]"
            ]
        );
    }
}
