//! Lists whose items have an identity: refuses duplicates, and finds the old version of an item.

use std::collections::BTreeMap;

use serde_json::Value;

use super::node::{ListType, Node};
use super::report::{Report, shown};
use super::values::whole;

/// Adds a problem for each item that is listed twice, at the second one.
pub(super) fn check_unique(node: &Node, items: &[Value], report: &mut Report) {
    let mut seen = BTreeMap::new();
    for (index, item) in items.iter().enumerate() {
        let Some(identity) = identity(node, item) else {
            return;
        };
        let (first, count) = seen.entry(identity).or_insert((index, 0));
        *count += 1;
        if *count == 2 {
            let message = format!(
                "duplicate of item {first} ({}); remove one of the two",
                name(node, item)
            );
            report.at_index(index, |report| report.add(message));
        }
    }
}

/// Finds the item of an old list that has the same keys. Only lists of type map have such items.
pub(super) fn same_item<'a>(node: &Node, item: &Value, old: Option<&'a Value>) -> Option<&'a Value> {
    if node.list != ListType::Map {
        return None;
    }
    let keys = identity(node, item);
    old?.as_array()?.iter().find(|old| identity(node, old) == keys)
}

/// Returns the identity of an item as comparable text; `None` if items of this list have none.
pub(super) fn identity(node: &Node, item: &Value) -> Option<String> {
    match node.list {
        ListType::Atomic => None,
        ListType::Set => Some(canonical(item)),
        ListType::Map => Some(keys(node, item).map(|(_, value)| value + "\n").collect()),
    }
}

/// Returns the text of a value, the same for `2` and `2.0`.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) => whole(number).map_or_else(|| number.to_string(), |whole| whole.to_string()),
        other => other.to_string(),
    }
}

fn keys<'a>(node: &'a Node, item: &'a Value) -> impl Iterator<Item = (&'a str, String)> {
    let value = |key: &&String| item.get(key.as_str()).map_or_else(String::new, canonical);
    node.keys.iter().map(move |key| (key.as_str(), value(&key)))
}

fn name(node: &Node, item: &Value) -> String {
    if node.list == ListType::Set {
        return shown(item);
    }
    let keys: Vec<_> = keys(node, item)
        .map(|(key, value)| format!("{key} {value}"))
        .collect();
    keys.join(", ")
}
