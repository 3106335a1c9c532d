//! The custom resource definitions around the schemas: names, scope, columns, subresources.

use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use super::structural;
use crate::api::names::{CLUSTER_TRAINING_RUNTIME, GROUP, TRAIN_JOB, TRAINING_RUNTIME, VERSION};
use crate::api::{ClusterTrainingRuntime, TrainJob, TrainingRuntime};

/// Kinds of this program, in the order in which they are printed.
pub(super) const KINDS: [&str; 3] = [TRAIN_JOB, TRAINING_RUNTIME, CLUSTER_TRAINING_RUNTIME];

/// Returns the definition of a kind; `None` if it is not ours.
pub(super) fn of(kind: &str) -> Option<Value> {
    let version = match kind {
        TRAIN_JOB => version::<TrainJob>(
            json!([
                // The type of the condition that is True. Without the filter a resumed job would be shown as suspended.
                { "name": "State", "type": "string", "jsonPath": ".status.conditions[?(@.status==\"True\")].type" },
                { "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp" },
            ]),
            json!({ "status": {} }),
        ),
        TRAINING_RUNTIME => version::<TrainingRuntime>(Value::Null, Value::Null),
        CLUSTER_TRAINING_RUNTIME => version::<ClusterTrainingRuntime>(Value::Null, Value::Null),
        _ => return None,
    };
    let singular = kind.to_ascii_lowercase();
    let plural = format!("{singular}s");
    let scope = if kind == CLUSTER_TRAINING_RUNTIME {
        "Cluster"
    } else {
        "Namespaced"
    };
    let mut crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": {
            "group": GROUP,
            "names": { "kind": kind, "listKind": format!("{kind}List"), "plural": plural, "singular": singular },
            "scope": scope,
            "versions": [version],
        },
    });
    crd.sort_all_objects();
    Some(crd)
}

/// Returns the one version of a kind: served, stored, with the schema of its type.
fn version<T: JsonSchema>(columns: Value, subresources: Value) -> Value {
    let mut version = Map::new();
    version.insert("name".into(), VERSION.into());
    version.insert("served".into(), true.into());
    version.insert("storage".into(), true.into());
    version.insert("schema".into(), json!({ "openAPIV3Schema": object::<T>() }));
    if !columns.is_null() {
        version.insert("additionalPrinterColumns".into(), columns);
    }
    if !subresources.is_null() {
        version.insert("subresources".into(), subresources);
    }
    Value::Object(version)
}

/// Returns the schema of a whole object. The API server has a schema of its own for `metadata`; only the name is listed,
/// so that rules can refer to it. No field is required here: the rules of the fields refuse an object without a spec.
fn object<T: JsonSchema>() -> Value {
    let mut schema = structural::of::<T>();
    schema.remove("required");
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert(
            "apiVersion".into(),
            json!({ "type": "string", "description": "Version of the schema of this object: group/version." }),
        );
        properties.insert(
            "kind".into(),
            json!({ "type": "string", "description": "Kind of this object." }),
        );
        properties.insert(
            "metadata".into(),
            json!({ "type": "object", "properties": { "name": { "type": "string" } } }),
        );
    }
    Value::Object(schema)
}
