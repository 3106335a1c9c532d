//! Steps through Kubernetes objects as JSON.

use serde_json::{Map, Value};

/// Follows members; `None` as soon as one is missing.
pub fn at<'a>(value: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(value, |value, step| value.get(step))
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

/// Tells whether `value` says all that `wanted` says; it may have more members, as a server fills them in.
pub fn covers(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(value), Value::Object(wanted)) => wanted
            .iter()
            .all(|(key, wanted)| covers(value.get(key).unwrap_or(&Value::Null), wanted)),
        (Value::Array(value), Value::Array(wanted)) => {
            value.len() == wanted.len()
                && value
                    .iter()
                    .zip(wanted)
                    .all(|(value, wanted)| covers(value, wanted))
        }
        (value, wanted) => value == wanted || is_empty(value) && is_empty(wanted),
    }
}

/// Finds the first field of `wanted` that `value` lacks, and gives its path.
pub fn lost(value: &Value, wanted: &Value) -> Option<String> {
    fn find(path: &str, value: &Value, wanted: &Value) -> Option<String> {
        match (value, wanted) {
            (Value::Null, wanted) if !is_empty(wanted) => Some(path.to_owned()),
            (Value::Object(value), Value::Object(wanted)) => wanted.iter().find_map(|(key, wanted)| {
                let path = if path.is_empty() {
                    key.clone()
                } else {
                    format!("{path}.{key}")
                };
                find(&path, value.get(key).unwrap_or(&Value::Null), wanted)
            }),
            (Value::Array(value), Value::Array(wanted)) => {
                wanted.iter().enumerate().find_map(|(at, wanted)| {
                    find(
                        &format!("{path}[{at}]"),
                        value.get(at).unwrap_or(&Value::Null),
                        wanted,
                    )
                })
            }
            _ => None,
        }
    }
    find("", value, wanted)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_server_adds_is_not_lost_and_what_it_drops_is_named() {
        let wanted = json!({"spec": {"list": [{"name": "a", "key": {"x": 1}}], "empty": {}}});
        let whole = json!({"spec": {"list": [{"name": "a", "key": {"x": 1}, "more": 2}]}, "status": {}});
        assert_eq!(lost(&whole, &wanted), None);
        let dropped = json!({"spec": {"list": [{"name": "a"}]}});
        assert_eq!(lost(&dropped, &wanted).as_deref(), Some("spec.list[0].key"));
        assert_eq!(lost(&json!({}), &wanted).as_deref(), Some("spec"));
    }
}
