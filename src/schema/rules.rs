//! CEL rules (`x-kubernetes-validations`), evaluated as the API server does.
//!
//! The expressions are the ones in the CRDs. Knows nothing of cost limits.

use std::sync::Arc;

use cel::{Context, objects};
use serde_json::Value;

use super::lists;
use super::node::{ListType, Node};
use super::rule::{ENV, Rule};
use super::values::whole;

/// Words that cannot be names in an expression. Kubernetes escapes them as `__word__`.
const RESERVED: [&str; 21] = [
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// The result of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It holds, or does not apply: a rule about a change needs an old value.
    Holds,
    /// It is broken.
    Broken,
    /// It cannot be evaluated, for this reason.
    Failed(String),
}

/// Evaluates a rule for a value and the value that it replaces.
pub(super) fn evaluate(rule: &Rule, node: &Node, value: &Value, old: Option<&Value>) -> Outcome {
    let program = match rule.program() {
        Ok(program) => program,
        Err(error) => return Outcome::Failed(error.to_owned()),
    };
    if rule.is_about_change() && old.is_none() {
        return Outcome::Holds;
    }
    let mut context = Context::with_env(Arc::clone(&ENV));
    context.add_variable_from_value("self", to_cel(Some(node), value));
    if let Some(old) = old.filter(|_| rule.is_about_change()) {
        context.add_variable_from_value("oldSelf", to_cel(Some(node), old));
    }
    match program.execute(&context) {
        Ok(cel::Value::Bool(true)) => Outcome::Holds,
        Ok(cel::Value::Bool(false)) => Outcome::Broken,
        Ok(other) => Outcome::Failed(format!("the rule must evaluate to a boolean, got {other:?}")),
        Err(error) => Outcome::Failed(error.to_string()),
    }
}

/// Converts a value for an expression: properties get their escaped names, and sets and maps are sorted, so that they
/// compare as in Kubernetes.
fn to_cel(node: Option<&Node>, value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(value) => cel::Value::Bool(*value),
        Value::String(value) => cel::Value::String(Arc::new(value.clone())),
        Value::Number(number) => number_to_cel(number),
        Value::Array(items) => list_to_cel(node, items),
        Value::Object(object) => {
            let map = object
                .iter()
                .map(|(name, value)| {
                    let property = node.and_then(|node| node.properties.get(name));
                    let key = if property.is_some() {
                        escaped(name)
                    } else {
                        name.clone()
                    };
                    let node = property.or_else(|| node?.additional_properties.as_deref());
                    (objects::Key::from(key), to_cel(node, value))
                })
                .collect();
            cel::Value::Map(objects::Map { map: Arc::new(map) })
        }
    }
}

fn list_to_cel(node: Option<&Node>, items: &[Value]) -> cel::Value {
    let mut items: Vec<&Value> = items.iter().collect();
    if let Some(node) = node.filter(|node| node.list != ListType::Atomic) {
        items.sort_by_cached_key(|item| lists::identity(node, item));
    }
    let node = node.and_then(|node| node.items.as_deref());
    cel::Value::List(Arc::new(
        items.into_iter().map(|item| to_cel(node, item)).collect(),
    ))
}

/// Converts a number. A whole one is an integer, however it is written.
fn number_to_cel(number: &serde_json::Number) -> cel::Value {
    match whole(number) {
        Some(int) => cel::Value::Int(int),
        None => cel::Value::Float(number.as_f64().unwrap_or(f64::NAN)),
    }
}

/// Escapes the name of a property as Kubernetes does, so that it is an identifier in CEL.
fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    name.replace("__", "__underscores__")
        .replace('.', "__dot__")
        .replace('-', "__dash__")
        .replace('/', "__slash__")
}
