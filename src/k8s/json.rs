//! Steps through Kubernetes objects as JSON.

use serde_json::{Map, Value};

use super::path::{FieldPath, Step};

/// Follows members; `None` as soon as one is missing.
pub fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, step| value.get(step))
}

/// Follows members to a value that is to be changed; `None` as soon as one is missing.
pub fn at_mut<'a>(value: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    path.iter().try_fold(value, |value, step| value.get_mut(*step))
}

/// Follows a path; keys in brackets are members of a map, or names of list items.
pub fn find<'a>(value: &'a Value, path: &FieldPath) -> Option<&'a Value> {
    path.steps()
        .iter()
        .try_fold(value, |value, step| match (step, value) {
            (Step::Index(index), _) => value.get(index),
            (Step::Key(key), Value::Array(items)) => named(items, key),
            (Step::Field(name) | Step::Key(name), _) => value.get(name),
        })
}

/// Follows members to a text.
pub fn text<'a>(value: &'a Value, path: &[&str]) -> Option<&'a str> {
    at(value, path)?.as_str()
}

/// Follows members to a list; an absent one is empty.
pub fn list<'a>(value: &'a Value, path: &[&str]) -> &'a [Value] {
    at(value, path)
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Gives the name of a list item.
pub fn name(item: &Value) -> Option<&str> {
    item.get("name")?.as_str()
}

/// Finds a list item by its name.
pub fn named<'a>(items: &'a [Value], wanted: &str) -> Option<&'a Value> {
    items.iter().find(|item| name(item) == Some(wanted))
}

/// Follows members and makes objects of those that are missing.
pub fn object_mut<'a>(value: &'a mut Value, path: &[&str]) -> &'a mut Map<String, Value> {
    let mut value = value;
    for step in path {
        value = as_object(value)
            .entry(*step)
            .or_insert_with(|| Value::Object(Map::new()));
    }
    as_object(value)
}

/// Finds the list that is the member `key`, and makes it where it is missing.
pub fn list_mut<'a>(object: &'a mut Map<String, Value>, key: &str) -> &'a mut Vec<Value> {
    let value = object.entry(key).or_insert_with(|| Value::Array(Vec::new()));
    if !value.is_array() {
        *value = Value::Array(Vec::new());
    }
    match value {
        Value::Array(items) => items,
        _ => unreachable!("made an array above"),
    }
}

/// Tells whether a value says nothing: null, or an empty object or list.
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
        _ => unreachable!("made an object above"),
    }
}
