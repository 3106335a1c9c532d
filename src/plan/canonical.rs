//! The canonical form of a TrainJob: the one in which Go's types write it.
//!
//! Kueue reads a job into Go structs and writes the whole of it back. Go then leaves out nulls, empty lists and maps,
//! and zero values of fields that it omits when they are zero, and it spells quantities in its own way. A plan is made
//! from that form, so that a job becomes the same JobSet before and after. Knows what Go does with the types of a
//! TrainJob; adds nothing, and keeps empty objects, which mean something.

use serde_json::Value;

use crate::api::{Raw, TrainJob};
use crate::k8s::fields;
use crate::k8s::path::{FieldPath, Step};
use crate::k8s::quantity::Quantity;

/// Lists that Go writes even when they are empty.
const WRITTEN_EMPTY: [&str; 2] = ["nodeSelectorTerms", "sources"];

/// Fields that Go omits when they are `""` or `false`, with the field or list that they are in.
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

/// Fields of a Pod template's patch that cannot change after creation and may hold what Go omits.
const FIXED: [&str; 5] = [
    "containers",
    "initContainers",
    "volumes",
    "imagePullSecrets",
    "securityContext",
];

/// Returns a job in canonical form. Empty `command` and `args` stay: they clear what the runtime has.
pub(super) fn of(job: &TrainJob) -> TrainJob {
    let mut job = job.clone();
    let spec = &mut job.spec;
    if let Some(initializer) = &mut spec.initializer {
        let sources = [&mut initializer.dataset, &mut initializer.model];
        for source in sources.into_iter().flatten() {
            tidy_items("env", &mut source.env);
            tidy_value("secretRef", &mut source.secret_ref);
        }
    }
    if let Some(trainer) = &mut spec.trainer {
        tidy_items("env", &mut trainer.env);
        tidy_value("resourcesPerNode", &mut trainer.resources_per_node);
    }
    for patch in spec.runtime_patches.iter_mut().flatten() {
        tidy_value("trainingRuntimeSpec", &mut patch.training_runtime_spec);
    }
    job
}

/// Tidies the items of the list `field`; an empty one goes.
fn tidy_items<T>(field: &str, list: &mut Option<Vec<Raw<T>>>) {
    for item in list.iter_mut().flatten() {
        tidy(item.value_mut(), field);
    }
    if list.as_ref().is_some_and(Vec::is_empty) {
        *list = None;
    }
}

fn tidy_value<T>(field: &str, value: &mut Option<Raw<T>>) {
    if let Some(raw) = value {
        tidy(raw.value_mut(), field);
    }
}

/// Brings what is below a value into the form in which Go writes it; `field` is the name of the field that it is in.
fn tidy(value: &mut Value, field: &str) {
    match value {
        Value::Object(_) if fields::is_text_map(field) => {}
        Value::Object(members) => members.retain(|name, value| {
            if fields::is_quantity(field, name) {
                spell(value);
            }
            tidy(value, name);
            !is_omitted(field, name, value)
        }),
        Value::Array(items) => items.iter_mut().for_each(|item| tidy(item, field)),
        _ => {}
    }
}

/// Spells a quantity as Kubernetes does. The schema refuses what is none.
fn spell(value: &mut Value) {
    if let Ok(quantity) = Quantity::from_json(value) {
        *value = Value::String(quantity.to_string());
    }
}

/// Reports whether Go leaves a field out when it writes what it has read.
fn is_omitted(parent: &str, name: &str, value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => {
            members.is_empty() && (fields::is_text_map(name) || fields::is_quantity_map(name))
        }
        Value::Array(items) => items.is_empty() && !WRITTEN_EMPTY.contains(&name),
        Value::String(text) => text.is_empty() && OMITTED_WHEN_ZERO.contains(&(parent, name)),
        Value::Bool(set) => !set && OMITTED_WHEN_ZERO.contains(&(parent, name)),
        Value::Number(_) => false,
    }
}

/// Warns that Kueue can never start a job: it writes the job back without what Go omits, and that may not change.
pub(super) fn warn_of_write_back(job: &TrainJob) -> Option<String> {
    if !job.queued() {
        return None;
    }
    let spec = serde_json::to_value(&job.spec).unwrap_or_default();
    let mut omitted = Vec::new();
    for section in ["initializer", "trainer", "runtimePatches"] {
        if let Some(value) = spec.get(section) {
            let mut path = FieldPath::new("spec").field(section);
            list_omitted(&mut path, section, value, &mut omitted);
        }
    }
    let omitted: Vec<String> = omitted
        .iter()
        .filter(|path| is_fixed(path))
        .map(ToString::to_string)
        .collect();
    (!omitted.is_empty()).then(|| {
        format!(
            "Kueue up to 0.19 cannot start this job: it writes it back without {}, which the API server takes for a \
             change of what may not change; delete the job and create it without them",
            omitted.join(", ")
        )
    })
}

/// Lists the fields below a value that Go omits.
fn list_omitted(path: &mut FieldPath, field: &str, value: &Value, omitted: &mut Vec<FieldPath>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                path.push(Step::member(name));
                if is_omitted(field, name, value) {
                    omitted.push(path.clone());
                } else {
                    list_omitted(path, name, value, omitted);
                }
                path.pop();
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                path.push(Step::Index(index));
                list_omitted(path, field, item, omitted);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Reports whether a field of the spec cannot change after creation. Most of a patch can, while the job is suspended.
fn is_fixed(path: &FieldPath) -> bool {
    let in_patch = path.starts_with(&FieldPath::new("spec.runtimePatches"));
    let is_fixed = |step: &Step| matches!(step, Step::Field(name) if FIXED.contains(&name.as_str()));
    !in_patch || path.steps().iter().any(is_fixed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::api::names;

    fn job(spec: Value) -> TrainJob {
        let mut job = json!({"metadata": {"name": "a"}, "spec": {"runtimeRef": {"name": "r"}}});
        job["spec"]
            .as_object_mut()
            .unwrap()
            .extend(spec.as_object().unwrap().clone());
        serde_json::from_value(job).unwrap()
    }

    fn canonical(spec: Value) -> Value {
        let once = of(&job(spec));
        let once_json = json!(once.spec);
        assert_eq!(json!(of(&once).spec), once_json, "canonical already");
        let mut spec = once_json;
        spec.as_object_mut().unwrap().remove("runtimeRef");
        spec
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

    #[test]
    fn a_queued_job_that_kueue_cannot_write_back_is_warned_of() {
        let mut queued = job(json!({
            "initializer": {"dataset": {"env": []}},
            "trainer": {"args": [], "env": [{"name": "A", "value": ""}], "resourcesPerNode": {"limits": {"cpu": 2}}},
            "runtimePatches": [{"manager": "a.io/b", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{
                "template": {"spec": {"template": {"spec": {
                    "nodeSelector": {}, "volumes": [{"name": "v", "emptyDir": {"medium": ""}}],
                }}}},
            }]}}}}],
        }));
        assert_eq!(warn_of_write_back(&queued), None, "only Kueue writes jobs back");
        queued.metadata.labels = Some([(names::KUEUE_QUEUE_LABEL.to_owned(), "q".to_owned())].into());
        let warning = warn_of_write_back(&queued).unwrap();
        let patch = "spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template";
        let paths = format!(
            "spec.initializer.dataset.env, spec.trainer.args, spec.trainer.env[0].value, \
             {patch}.spec.volumes[0].emptyDir.medium, which"
        );
        assert!(warning.contains(&paths), "{warning}");
    }
}
