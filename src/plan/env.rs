//! Environment variables of a container.

use serde_json::{Map, Value, json};

use crate::k8s::json::{self as k8s_json, list_mut};
use crate::k8s::upsert;

/// Longest value of a variable, in bytes. The kernel takes no argument or variable of 128 KiB or more.
pub(super) const LONGEST: usize = 100 * 1024;

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

/// Puts entries in front of all others, so that those may refer to them; an entry of the same name goes.
pub(super) fn put_first<'e>(
    container: &mut Map<String, Value>,
    entries: impl IntoIterator<Item = &'e Value>,
) {
    let list = list_mut(container, "env");
    let mut env: Vec<Value> = entries.into_iter().cloned().collect();
    let is_ours = |entry: &Value| {
        env.iter()
            .any(|ours| k8s_json::name(ours) == k8s_json::name(entry))
    };
    list.retain(|entry| !is_ours(entry));
    env.append(list);
    *list = env;
}

/// Lists the variables that a text refers to as `$(NAME)`, as the kubelet reads it: `$$` stands for a dollar sign.
pub(super) fn references(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('(').and_then(|r| r.split_once(')')) {
            found.push(name);
            rest = after;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_found_as_the_kubelet_finds_them() {
        assert_eq!(references("a$(B)-$(C)$$(D) $E $(F"), ["B", "C"]);
        assert_eq!(references("$$$(A)"), ["A"]);
        assert!(references("").is_empty());
    }

    #[test]
    fn entries_go_to_the_front_and_replace_those_of_their_name() {
        let mut container = Map::new();
        container.insert(
            "env".to_owned(),
            json!([{"name": "A"}, {"name": "X"}, {"name": "B"}]),
        );
        put_first(&mut container, [&value("X", 1), &value("Y", 2)]);
        let names: Vec<_> = k8s_json::list(&container["env"], &[])
            .iter()
            .filter_map(k8s_json::name)
            .collect();
        assert_eq!(names, ["X", "Y", "A", "B"]);
    }
}
