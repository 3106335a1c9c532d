//! Environment variables of a container.

use serde_json::{Map, Value, json};

use crate::k8s::json::{self as k8s_json, list_mut};
use crate::k8s::upsert;

/// Longest value of a variable, in bytes. The kernel takes no argument or variable of 128 KiB or more.
pub(super) const LONGEST: usize = 100 * 1024;

/// A variable that a framework sets, and why it is what it is.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    /// The entry of the container's `env`.
    pub(super) entry: Value,
    /// What led to its value, as `explain` shows it.
    pub(super) why: &'static str,
}

impl Variable {
    /// Returns the name.
    pub(super) fn name(&self) -> &str {
        k8s_json::name(&self.entry).unwrap_or_default()
    }
}

/// Makes a variable with a plain value.
pub(super) fn value(name: &str, value: impl ToString, why: &'static str) -> Variable {
    Variable {
        entry: json!({"name": name, "value": value.to_string()}),
        why,
    }
}

/// Makes a variable that takes its value from a field of its pod.
pub(super) fn field(name: &str, path: &str, why: &'static str) -> Variable {
    Variable {
        entry: json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}),
        why,
    }
}

/// Puts entries into a container, each in the place of the one with its name, else at the end.
pub(super) fn upsert(container: &mut Map<String, Value>, entries: impl IntoIterator<Item = Value>) {
    let mut entries = entries.into_iter().peekable();
    if entries.peek().is_some() {
        let list = list_mut(container, "env");
        entries.for_each(|entry| upsert::by_key(list, "name", entry));
    }
}

/// Puts entries in front of all others, so that those may refer to them; an entry of the same name goes.
pub(super) fn put_first(container: &mut Map<String, Value>, mut entries: Vec<Value>) {
    if entries.is_empty() {
        return;
    }
    let list = list_mut(container, "env");
    let is_ours = |entry: &Value| {
        let mut ours = entries.iter();
        ours.any(|ours| k8s_json::name(ours) == k8s_json::name(entry))
    };
    list.retain(|entry| !is_ours(entry));
    entries.append(list);
    *list = entries;
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
        put_first(&mut container, vec![json!({"name": "X"}), json!({"name": "Y"})]);
        let names: Vec<_> = k8s_json::list(&container["env"], &[])
            .iter()
            .filter_map(k8s_json::name)
            .collect();
        assert_eq!(names, ["X", "Y", "A", "B"]);
    }
}
