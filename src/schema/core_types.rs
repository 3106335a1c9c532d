//! What Kubernetes publishes about the fields of its own types, and k8s-openapi's schemas leave out or contradict: list
//! types, list keys, map types, defaults, and required fields.
//!
//! The table is generated from Kubernetes' OpenAPI (`cargo xtask generate --openapi`). None of it is written by hand.

use std::sync::LazyLock;

use serde_json::{Map, Value};

/// Maps definitions to fields to keywords. Keywords of the definition itself are under the empty field name.
static TABLE: LazyLock<Value> =
    LazyLock::new(|| serde_json::from_str(include_str!("core_types.json")).unwrap_or_default());

/// Adds to the schema of a definition what Kubernetes publishes about it.
pub(super) fn complete(definition: &str, schema: &mut Map<String, Value>) {
    if let Some(fields) = TABLE.get(definition) {
        schema.remove("required");
        overlay(fields, schema);
    }
}

/// Adds keywords to the properties of a schema. Those under the empty name go to the schema itself.
pub(super) fn overlay(fields: &Value, schema: &mut Map<String, Value>) {
    for (field, keywords) in fields.as_object().into_iter().flatten() {
        let target = if field.is_empty() {
            Some(&mut *schema)
        } else {
            schema
                .get_mut("properties")
                .and_then(|properties| properties.get_mut(field)?.as_object_mut())
        };
        if let (Some(target), Some(keywords)) = (target, keywords.as_object()) {
            target.extend(keywords.clone());
        }
    }
}
