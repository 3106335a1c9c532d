//! Checks a value alone: its type, bounds, pattern, format, and allowed values.

use std::sync::LazyLock;

use serde_json::{Map, Number, Value};

use super::node::{Format, Kind, Node, Pattern};
use super::report::{Report, shown};
use super::structural::QUANTITY_PATTERN;

/// Returns what is wrong with the type of a value; `None` if it fits.
pub(super) fn wrong_type(node: &Node, value: &Value) -> Option<String> {
    let (fits, wanted) = if node.int_or_string {
        let fits = value.is_string() || value.as_number().is_some_and(|number| whole(number).is_some());
        (fits, "a whole number or a string")
    } else {
        match node.kind {
            Kind::Object => (value.is_object(), "an object"),
            Kind::Array => (value.is_array(), "a list"),
            Kind::String => (value.is_string(), "a string"),
            Kind::Integer => (fits_integer(node, value), integer(node)),
            Kind::Number => (value.is_number(), "a number"),
            Kind::Boolean => (value.is_boolean(), "true or false"),
            Kind::Unsaid => (true, ""),
        }
    };
    let scalar = value.is_number() || value.is_boolean();
    let quotable = scalar && (node.int_or_string || node.kind == Kind::String);
    let fix = if quotable { "; put it in quotes" } else { "" };
    (!fits).then(|| format!("must be {wanted}, got {}{fix}", described(value)))
}

fn fits_integer(node: &Node, value: &Value) -> bool {
    let number = value.as_number().and_then(whole);
    number.is_some_and(|number| node.format != Format::Int32 || i32::try_from(number).is_ok())
}

fn integer(node: &Node) -> &'static str {
    if node.format == Format::Int32 {
        "a whole number of 32 bits"
    } else {
        "a whole number"
    }
}

fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Object(_) => "an object".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::String(_) => format!("the string {}", shown(value)),
        Value::Bool(_) | Value::Number(_) => shown(value),
    }
}

/// Returns a whole number as an integer. As in the API server, `2.0` is one.
pub(super) fn whole(number: &Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64().filter(|float| float.fract() == 0.0)?;
        format!("{float:.0}").parse().ok()
    })
}

/// Checks a value of the right type, without what is below it.
pub(super) fn check(node: &Node, value: &Value, report: &mut Report) {
    if !node.allowed.is_empty() && !node.allowed.contains(value) {
        let allowed: Vec<_> = node.allowed.iter().map(Value::to_string).collect();
        report.add(format!(
            "{} is not supported; use one of {}",
            shown(value),
            allowed.join(", ")
        ));
    }
    match value {
        Value::String(text) => check_text(node, value, text, report),
        Value::Number(number) => check_number(node, number, report),
        Value::Array(items) => check_items(node, items, report),
        Value::Object(object) => check_object(node, object, report),
        Value::Null | Value::Bool(_) => {}
    }
}

fn check_text(node: &Node, value: &Value, text: &str, report: &mut Report) {
    let length = text.chars().count();
    if let Some(min) = node.min_length.filter(|min| length < *min) {
        report.add(if length == 0 {
            "must not be empty".to_owned()
        } else {
            format!(
                "must have at least {}, got {}",
                counted(min, "character"),
                shown(value)
            )
        });
    }
    if let Some(max) = node.max_length.filter(|max| length > *max) {
        report.add(format!(
            "must have at most {}, got {length}",
            counted(max, "character")
        ));
    }
    if let Some(pattern) = node.pattern.as_ref().filter(|pattern| !pattern.matches(text)) {
        report.add(if pattern.text() == QUANTITY_PATTERN {
            let example = "a number with an optional suffix, such as 2, 500m or 64Gi";
            format!("{} is not a quantity; write {example}", shown(value))
        } else {
            format!("must match {}, got {}", pattern.text(), shown(value))
        });
    }
    if node.format == Format::DateTime && !is_date_time(text) {
        report.add(format!(
            "must be a time such as 2026-01-31T12:00:00Z, got {}",
            shown(value)
        ));
    }
}

fn check_number(node: &Node, number: &Number, report: &mut Report) {
    let Some(value) = whole(number) else { return };
    if let Some(min) = node.minimum.filter(|min| value < *min) {
        report.add(format!("must be {min} or more, got {value}"));
    }
    if let Some(max) = node.maximum.filter(|max| value > *max) {
        report.add(format!("must be {max} or less, got {value}"));
    }
}

fn check_items(node: &Node, items: &[Value], report: &mut Report) {
    let count = items.len();
    if let Some(min) = node.min_items.filter(|min| count < *min) {
        report.add(format!(
            "must have at least {}, got {count}",
            counted(min, "item")
        ));
    }
    if let Some(max) = node.max_items.filter(|max| count > *max) {
        report.add(format!("must have at most {}, got {count}", counted(max, "item")));
    }
}

fn check_object(node: &Node, object: &Map<String, Value>, report: &mut Report) {
    let count = object.values().filter(|value| !value.is_null()).count();
    if let Some(min) = node.min_properties.filter(|min| count < *min) {
        report.add(format!(
            "must have at least {}, got {count}; set more, or leave it out",
            counted(min, "field")
        ));
    }
    if let Some(max) = node.max_properties.filter(|max| count > *max) {
        report.add(format!(
            "must have at most {}, got {count}",
            counted(max, "field")
        ));
    }
}

/// Returns a count with its noun: `1 item`, `2 items`.
fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Reports whether a text is an RFC 3339 time as the API server accepts it: with a zone, and without leap seconds.
fn is_date_time(text: &str) -> bool {
    static SHAPE: LazyLock<Pattern> = LazyLock::new(|| {
        let time = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?";
        Pattern::from(format!(
            "(?i)^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}t{time}(z|[+-][0-9]{{2}}:[0-9]{{2}})$"
        ))
    });
    let date = text
        .get(..10)
        .and_then(|date| date.parse::<jiff::civil::Date>().ok());
    SHAPE.matches(text) && date.is_some()
}
