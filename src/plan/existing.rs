//! How to get from the JobSet that exists to the one that is wanted.
//!
//! Source of the rules: JobSet's webhook. `spec.suspend` may change at any time; labels, annotations, nodeSelector,
//! tolerations and schedulingGates of the Pod templates while the JobSet is suspended; nothing else ever.

use serde_json::{Map, Value, json};

use super::JobSetAction;
use crate::api::{JobSet, TrainJob};
use crate::k8s::json as k8s_json;

/// Fields of a Pod template that may change while the JobSet is suspended.
const MUTABLE: [(&[&str], &str); 5] = [
    (&["template", "spec", "template", "metadata"], "labels"),
    (&["template", "spec", "template", "metadata"], "annotations"),
    (&["template", "spec", "template", "spec"], "nodeSelector"),
    (&["template", "spec", "template", "spec"], "tolerations"),
    (&["template", "spec", "template", "spec"], "schedulingGates"),
];

/// Decides what is to be done, and lists in which paths the two differ for good.
pub(super) fn reconcile(
    job: &TrainJob,
    existing: Option<&JobSet>,
    wanted: &Value,
) -> (JobSetAction, Vec<String>) {
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
    let action = if patch.is_empty() {
        JobSetAction::Keep
    } else {
        JobSetAction::Patch(json!({ "spec": patch }))
    };
    (action, frozen(existing.spec.value(), wanted_spec))
}

/// Gives the existing list of replicated jobs with the mutable fields as they are wanted, or `None` when they are so.
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

/// Lists the paths in which the existing spec says something else than is wanted. What only the existing one has was
/// put there by defaults, except for items of lists that are matched by name.
fn frozen(existing: &Value, wanted: &Value) -> Vec<String> {
    let mut paths = Vec::new();
    differ("spec", existing, wanted, &mut paths);
    paths
}

fn differ(path: &str, existing: &Value, wanted: &Value, paths: &mut Vec<String>) {
    match (existing, wanted) {
        (Value::Object(old), Value::Object(new)) => {
            for (field, value) in new {
                let skipped = path == "spec" && field == "suspend"
                    || MUTABLE
                        .iter()
                        .any(|(at, name)| name == field && path.ends_with(&format!(".{}", at.join("."))));
                if !skipped && !k8s_json::is_empty(value) {
                    differ(
                        &format!("{path}.{field}"),
                        old.get(field).unwrap_or(&Value::Null),
                        value,
                        paths,
                    );
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if new.iter().all(|item| k8s_json::name(item).is_some()) => {
            for item in new {
                let name = k8s_json::name(item).unwrap_or_default();
                let was = k8s_json::named(old, name).unwrap_or(&Value::Null);
                differ(&format!("{path}[{name}]"), was, item, paths);
            }
            let gone = old
                .iter()
                .filter_map(k8s_json::name)
                .filter(|name| k8s_json::named(new, name).is_none());
            paths.extend(gone.map(|name| format!("{path}[{name}]")));
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (at, (old, new)) in old.iter().zip(new).enumerate() {
                differ(&format!("{path}[{at}]"), old, new, paths);
            }
        }
        (old, new) if old == new => {}
        _ => paths.push(path.to_owned()),
    }
}
