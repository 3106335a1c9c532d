//! Navigates Kubernetes objects as JSON. Knows no kind, and nothing of what a field means.

use serde_json::{Map, Value};

use super::path::{FieldPath, Step};

/// Returns the value below these fields; `None` if one is missing.
pub fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, step| value.get(step))
}

/// Returns the value below these fields, to change it; `None` if one is missing.
pub fn at_mut<'a>(value: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| value.get_mut(*step))
}

/// Returns the value at a path. Keys in brackets are keys of a map, or names of list items.
pub fn find<'a>(value: &'a Value, path: &FieldPath) -> Option<&'a Value> {
    path.steps()
        .iter()
        .try_fold(value, |value, step| match (step, value) {
            (Step::Index(index), _) => value.get(index),
            (Step::Key(key), Value::Array(items)) => named(items, key),
            (Step::Field(name) | Step::Key(name), _) => value.get(name),
        })
}

/// Returns the text below these fields.
pub fn text<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(value, path)?.as_str()
}

/// Returns the list below these fields; empty if it is absent.
pub fn list<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Returns the name of a list item.
pub fn name(item: &Value) -> Option<&str> {
    item.get("name")?.as_str()
}

/// Finds a list item by its name.
pub fn named<'a>(items: &'a [Value], wanted: &str) -> Option<&'a Value> {
    items.iter().find(|item| name(item) == Some(wanted))
}

/// Returns the object below these fields, to change it. Creates what is missing.
pub fn object_mut<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Map<String, Value> {
    let mut value = value;
    for step in path {
        value = as_object(value)
            .entry(*step)
            .or_insert_with(|| Value::Object(Map::new()));
    }
    as_object(value)
}

/// Returns the list in the field `key`, to change it. Creates it if it is missing.
pub fn list_mut<'a>(object: &'a mut Map<String, Value>, key: &str) -> &'a mut Vec<Value> {
    let value = object.entry(key).or_insert_with(|| Value::Array(Vec::new()));
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    match value {
        Value::Array(items) => items,
        _ => unreachable!("an array since the lines above"),
    }
}

/// Reports whether a value is null, or an empty object or list.
pub fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

fn as_object(value: &mut Value) -> &mut Map<String, Value> {
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    match value {
        Value::Object(members) => members,
        _ => unreachable!("an object since the lines above"),
    }
}
