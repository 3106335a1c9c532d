//! Fields that a schema does not know: an API server refuses them to strict clients, and drops them for others.

use serde_json::Value;

use super::node::Node;
use super::report::Report;
use crate::k8s::suggest;

/// Adds a problem for each field below `value` that the schema does not know.
pub(super) fn find(node: &Node, value: &Value, report: &mut Report) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                if let Some(property) = node.properties.get(name) {
                    report.at_field(name, |report| find(property, value, report));
                } else if let Some(values) = &node.additional_properties {
                    report.at_key(name, |report| find(values, value, report));
                } else if !node.preserve_unknown {
                    report.at_field(name, |report| report.add(message(node, name)));
                }
            }
        }
        Value::Array(items) => {
            if let Some(node) = &node.items {
                for (index, item) in items.iter().enumerate() {
                    report.at_index(index, |report| find(node, item, report));
                }
            }
        }
        _ => {}
    }
}

/// Removes the fields below `value` that the schema does not know.
pub(super) fn prune(node: &Node, value: &mut Value) {
    match value {
        Value::Object(object) => {
            object.retain(|name, _| node.preserve_unknown || node.field(name).is_some());
            for (name, value) in object {
                if let Some(node) = node.field(name) {
                    prune(node, value);
                }
            }
        }
        Value::Array(items) => {
            if let Some(node) = &node.items {
                for item in items {
                    prune(node, item);
                }
            }
        }
        _ => {}
    }
}

fn message(node: &Node, name: &str) -> String {
    match suggest::nearest(name, node.properties.keys().map(String::as_str)) {
        Some(known) => format!("unknown field; did you mean {known:?}?"),
        None if node.properties.is_empty() => "unknown field; nothing can be set here".to_owned(),
        None => "unknown field; remove it".to_owned(),
    }
}
