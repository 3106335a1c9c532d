//! The form in which a `TrainJob` is stored, so that clients with Go types can write it back unchanged.
//!
//! Kueue reads a job into Go structs and puts the whole of it back. What Go leaves out on the way (nulls, empty lists
//! and maps, explicit zero values of fields that it omits when they are zero) or spells in another way (quantities)
//! would then look like a change of an immutable field, and the job could never start. Knows what Go does with the
//! types of a `TrainJob`; adds nothing, and keeps empty objects, which mean something.

use serde_json::{Map, Value};

use crate::api::names;
use crate::k8s::quantity::Quantity;

/// Lists of `spec.trainer` that say something when they are empty: they clear what the runtime has. Go would omit
/// them, but to drop them would run another command than the one that was asked for.
const CLEARING: [&str; 2] = ["command", "args"];

/// Lists that Go writes even when they are empty.
const WRITTEN_EMPTY: [&str; 2] = ["nodeSelectorTerms", "sources"];

/// Maps of texts, whose keys are the users' own.
const TEXT_MAPS: [&str; 5] = [
    "labels",
    "annotations",
    "nodeSelector",
    "matchLabels",
    "volumeAttributes",
];

/// Maps of quantities.
const QUANTITY_MAPS: [&str; 2] = ["limits", "requests"];

/// Single quantities.
const QUANTITIES: [&str; 2] = ["sizeLimit", "divisor"];

/// Fields that Go omits when they are `""` or `false`, with the field or list that they stand in.
const OMITTED_WHEN_ZERO: [(&str, &str); 24] = [
    ("env", "value"),
    ("fieldRef", "apiVersion"),
    ("resourceFieldRef", "containerName"),
    ("configMapKeyRef", "name"),
    ("secretKeyRef", "name"),
    ("secretRef", "name"),
    ("claims", "request"),
    ("tolerations", "key"),
    ("tolerations", "operator"),
    ("tolerations", "value"),
    ("tolerations", "effect"),
    ("volumeMounts", "readOnly"),
    ("volumeMounts", "subPath"),
    ("volumeMounts", "subPathExpr"),
    ("emptyDir", "medium"),
    ("secret", "secretName"),
    ("configMap", "name"),
    ("persistentVolumeClaim", "readOnly"),
    ("nfs", "readOnly"),
    ("serviceAccountToken", "audience"),
    ("seLinuxOptions", "user"),
    ("seLinuxOptions", "role"),
    ("seLinuxOptions", "type"),
    ("seLinuxOptions", "level"),
];

/// Brings the spec of a `TrainJob` into the form in which it is stored. Done twice, it changes nothing more.
pub fn canonicalize(job: &mut Value) {
    if let Some(Value::Object(spec)) = job.get_mut("spec") {
        tidy(spec, "spec");
    }
}

fn tidy(fields: &mut Map<String, Value>, parent: &str) {
    fields.retain(|key, value| keep(parent, key, value));
}

/// Tidies one field up and tells whether it stays.
fn keep(parent: &str, key: &str, value: &mut Value) -> bool {
    match value {
        Value::Object(_) if TEXT_MAPS.contains(&key) => {}
        Value::Object(entries) if QUANTITY_MAPS.contains(&key) => entries.values_mut().for_each(spell),
        Value::Object(fields) => tidy(fields, key),
        Value::Array(items) => {
            for item in items.iter_mut().filter_map(Value::as_object_mut) {
                tidy(item, key);
            }
        }
        _ if QUANTITIES.contains(&key) => spell(value),
        _ => {}
    }
    let clears = parent == "trainer" && CLEARING.contains(&key) && value.is_array();
    clears || !is_omitted(parent, key, value)
}

/// Tells whether Go leaves a field out when it writes what it has read.
fn is_omitted(parent: &str, key: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(entries) => {
            entries.is_empty() && (TEXT_MAPS.contains(&key) || QUANTITY_MAPS.contains(&key))
        }
        Value::Array(items) => items.is_empty() && !WRITTEN_EMPTY.contains(&key),
        Value::String(text) => text.is_empty() && OMITTED_WHEN_ZERO.contains(&(parent, key)),
        Value::Bool(set) => !set && OMITTED_WHEN_ZERO.contains(&(parent, key)),
        Value::Number(_) => false,
    }
}

/// Fields of a Pod template's patch that cannot change after creation and may hold what Go omits.
const FIXED: [&str; 5] = [
    "containers",
    "initContainers",
    "volumes",
    "imagePullSecrets",
    "securityContext",
];

/// Warns that Kueue can never start a job, since what it leaves out when it writes the job back cannot change.
pub fn warn_of_write_back(job: &Value) -> Option<String> {
    job.get("metadata")?
        .get("labels")?
        .get(names::KUEUE_QUEUE_LABEL)?;
    let spec = job.get("spec")?;
    let mut omitted = Vec::new();
    for section in ["initializer", "trainer", "runtimePatches"] {
        if let Some(value) = spec.get(section) {
            list_omitted(&format!("spec.{section}"), section, value, &mut omitted);
        }
    }
    let in_patch = |path: &String| path.starts_with("spec.runtimePatches");
    let is_fixed = |path: &String| FIXED.iter().any(|field| path.contains(&format!(".{field}")));
    omitted.retain(|path| !in_patch(path) || is_fixed(path));
    (!omitted.is_empty()).then(|| {
        format!(
            "Kueue up to 0.19 cannot start this job: it writes it back without {}, which the API server takes for a \
             change of what may not change; delete the job and create it without them",
            omitted.join(", ")
        )
    })
}

/// Lists the fields below a value that Go omits.
fn list_omitted(path: &str, parent: &str, value: &Value, omitted: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                let path = format!("{path}.{key}");
                if is_omitted(parent, key, value) {
                    omitted.push(path);
                } else {
                    list_omitted(&path, key, value, omitted);
                }
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                list_omitted(&format!("{path}[{at}]"), parent, item, omitted);
            }
        }
        _ => {}
    }
}

/// Spells a quantity as Kubernetes does; what is none is left to the schema to refuse.
fn spell(value: &mut Value) {
    if let Ok(quantity) = Quantity::from_json(value) {
        *value = Value::String(quantity.to_string());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_queued_job_that_kueue_cannot_write_back_is_told() {
        let job = |labels: Value| {
            json!({
                "metadata": {"labels": labels},
                "spec": {
                    "initializer": {"dataset": {"env": []}},
                    "trainer": {"args": [], "env": [{"name": "A", "value": ""}], "resourcesPerNode": {"limits": {"cpu": 2}}},
                    "runtimePatches": [{"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{
                        "template": {"spec": {"template": {"spec": {
                            "nodeSelector": {}, "volumes": [{"name": "v", "emptyDir": {"medium": ""}}],
                        }}}},
                    }]}}}}],
                },
            })
        };
        let warning = warn_of_write_back(&job(json!({"kueue.x-k8s.io/queue-name": "q"}))).unwrap();
        let patch = "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template";
        let paths = format!(
            "spec.initializer.dataset.env, spec.trainer.args, spec.trainer.env[0].value, \
             {patch}.spec.volumes[0].emptyDir.medium, which"
        );
        assert!(warning.contains(&paths), "{warning}");
        assert_eq!(
            warn_of_write_back(&job(json!({}))),
            None,
            "no other client does this"
        );
    }

    fn canonical(mut spec: Value) -> Value {
        spec = json!({"spec": spec});
        canonicalize(&mut spec);
        let once = spec.clone();
        canonicalize(&mut spec);
        assert_eq!(spec, once, "canonical already");
        spec["spec"].take()
    }

    #[test]
    fn quantities_become_canonical_text() {
        assert_eq!(
            canonical(json!({"trainer": {"resourcesPerNode": {
                "limits": {"cpu": 2.0, "memory": "1024Mi", "nvidia.com/gpu": 4},
                "requests": {"cpu": "0.5"},
            }}})),
            json!({"trainer": {"resourcesPerNode": {
                "limits": {"cpu": "2", "memory": "1Gi", "nvidia.com/gpu": "4"},
                "requests": {"cpu": "500m"},
            }}})
        );
    }

    #[test]
    fn what_go_omits_is_gone_and_empty_objects_stay() {
        assert_eq!(
            canonical(json!({
                "trainer": {"env": [], "image": "", "numNodes": 0},
                "initializer": {"dataset": {"env": [{"name": "A", "value": ""}], "storageUri": ""}, "model": {}},
                "runtimePatches": [{
                    "manager": "a.io/b",
                    "time": null,
                    "trainingRuntimeSpec": {"template": {
                        "metadata": {"labels": {}},
                        "spec": {},
                    }},
                }],
                "suspend": false,
            })),
            json!({
                "trainer": {"image": "", "numNodes": 0},
                "initializer": {"dataset": {"env": [{"name": "A"}], "storageUri": ""}, "model": {}},
                "runtimePatches": [{
                    "manager": "a.io/b",
                    "trainingRuntimeSpec": {"template": {"metadata": {}, "spec": {}}},
                }],
                "suspend": false,
            })
        );
    }

    #[test]
    fn empty_command_and_args_still_clear_the_runtimes() {
        let spec = json!({"trainer": {"command": [], "args": []}});
        assert_eq!(canonical(spec.clone()), spec);
    }

    #[test]
    fn users_own_keys_and_values_are_left_alone() {
        let spec = json!({"runtimePatches": [{"manager": "a.io/b", "trainingRuntimeSpec": {"template": {"metadata": {
            "annotations": {"limits": "1000m", "divisor": "1000m", "value": ""},
        }}}}]});
        assert_eq!(canonical(spec.clone()), spec);
    }
}
