//! Sets defaults, as the API server does when it reads an object.

use serde_json::{Map, Value};

use super::node::Node;

/// Sets the defaults below `value`, in each object that exists. A null is replaced by the default, or removed.
pub(super) fn set(node: &Node, value: &mut Value) {
    match value {
        Value::Object(object) => set_in_object(node, object),
        Value::Array(items) => {
            if let Some(node) = &node.items {
                for item in items {
                    set(node, item);
                }
            }
        }
        _ => {}
    }
}

fn set_in_object(node: &Node, object: &mut Map<String, Value>) {
    object.retain(|name, value| !value.is_null() || node.field(name).is_none());
    for (name, property) in &node.properties {
        if let Some(default) = &property.default
            && !object.contains_key(name)
        {
            object.insert(name.clone(), default.clone());
        }
    }
    for (name, value) in object {
        if let Some(node) = node.field(name) {
            set(node, value);
        }
    }
}
