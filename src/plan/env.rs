//! Environment variables of a container.

use serde_json::{Map, Value, json};

use crate::k8s::json::list_mut;
use crate::k8s::upsert;

/// Makes an entry with a plain value.
pub(super) fn value(name: &str, value: impl ToString) -> Value {
    json!({"name": name, "value": value.to_string()})
}

/// Makes an entry that takes its value from a field of its pod.
pub(super) fn field(name: &str, path: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
}

/// Puts entries into a container, each in the place of the one with its name, else at the end.
pub(super) fn upsert<'e>(container: &mut Map<String, Value>, entries: impl IntoIterator<Item = &'e Value>) {
    let list = list_mut(container, "env");
    for entry in entries {
        upsert::by_key(list, "name", entry.clone());
    }
}
