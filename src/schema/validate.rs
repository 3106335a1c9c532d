//! Walks along an object and its schema, and collects all problems.
//!
//! As in the API server, what an update leaves unchanged is not checked again, and a null field counts as absent. Unlike
//! there, rules are evaluated although the object is wrong elsewhere, so that users see everything at once.

use serde_json::{Map, Value};

use super::lists;
use super::node::{MapType, Node};
use super::report::{Report, shown};
use super::rule::Rule;
use super::rules::{self, Outcome};
use super::values;
use crate::k8s::json as k8s_json;
use crate::k8s::path::FieldPath;

/// Checks a whole object. The problems that are in the report already are problems of it, too.
pub(super) fn check_object(node: &Node, object: &Value, old: Option<&Value>, report: &mut Report) {
    check_from(0, node, object, old, report);
}

/// Checks a value; `old` is the value that it replaces, if there is one.
fn check(node: &Node, value: &Value, old: Option<&Value>, report: &mut Report) {
    check_from(report.len(), node, value, old, report);
}

/// Checks a value; the problems from the index `before` on are problems of it.
fn check_from(before: usize, node: &Node, value: &Value, old: Option<&Value>, report: &mut Report) {
    if old == Some(value) {
        return;
    }
    if let Some(message) = values::wrong_type(node, value) {
        report.add(message);
        return;
    }
    values::check(node, value, report);
    match value {
        Value::Object(object) => check_fields(node, object, old, report),
        Value::Array(items) => check_items(node, items, old, report),
        _ => {}
    }
    let sound = report.len() == before;
    for rule in &node.rules {
        check_rule(rule, node, value, old, sound, report);
    }
}

fn check_fields(node: &Node, object: &Map<String, Value>, old: Option<&Value>, report: &mut Report) {
    for name in &node.required {
        if object.get(name).is_none_or(Value::is_null) {
            report.at_field(name, |report| report.add("is required; set it"));
        }
    }
    let old = old.filter(|_| node.map == MapType::Granular);
    for (name, value) in object.iter().filter(|(_, value)| !value.is_null()) {
        let old = old.and_then(|old| old.get(name));
        if let Some(property) = node.properties.get(name) {
            report.at_field(name, |report| check(property, value, old, report));
        } else if let Some(values) = &node.additional_properties {
            report.at_key(name, |report| check(values, value, old, report));
        }
    }
}

fn check_items(node: &Node, items: &[Value], old: Option<&Value>, report: &mut Report) {
    lists::check_unique(node, items, report);
    if let Some(schema) = &node.items {
        for (index, item) in items.iter().enumerate() {
            let old = lists::same_item(node, item, old);
            report.at_index(index, |report| check(schema, item, old, report));
        }
    }
}

/// Evaluates a rule. A rule that cannot be evaluated is a problem only if the value has no other, and the field that
/// the rule is about is set.
fn check_rule(
    rule: &Rule,
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    sound: bool,
    report: &mut Report,
) {
    let below = rule.field_path.as_deref().unwrap_or_default();
    let below = FieldPath::new(below.trim_start_matches('.'));
    let subject = k8s_json::find(value, &below);
    let message = match rules::evaluate(rule, node, value, old) {
        Outcome::Broken if rule.is_about_change() => rule.message.clone(),
        Outcome::Broken => with_value(subject, &rule.message),
        Outcome::Failed(why) if sound && subject.is_some_and(|subject| !subject.is_null()) => {
            format!("cannot be checked ({}): {why}", rule.message)
        }
        Outcome::Holds | Outcome::Failed(_) => return,
    };
    report.at_path(&below, |report| report.add(message));
}

/// Adds a value to a message, if it is short enough to help.
fn with_value(value: Option<&Value>, message: &str) -> String {
    match value {
        Some(value) if !value.is_object() && !value.is_array() => format!("{message}, got {}", shown(value)),
        _ => message.to_owned(),
    }
}
