//! The API server's rules for the `metadata` of any object: names, labels, annotations.
//!
//! Only syntax. The schema of `ObjectMeta` covers types and unknown fields.

use serde_json::{Map, Value};

use super::report::{Report, shown};

/// Largest total size of all annotations of an object, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

const NAME_RULE: &str = "must be a lower-case RFC 1123 subdomain: letters, digits, '-' and '.', with a letter or digit \
                         at both ends, at most 253 characters";
const NAMESPACE_RULE: &str = "must be a lower-case RFC 1123 label of at most 63 characters";
const KEY_RULE: &str = "must be name or domain/name, the name of at most 63 letters, digits, '-', '_' and '.', with a \
                        letter or digit at both ends";
const LABEL_RULE: &str =
    "must be empty or at most 63 letters, digits, '-', '_' and '.', with a letter or digit at both ends";

/// Checks the metadata of an object that is namespaced, or not.
pub(super) fn check(object: &Value, namespaced: bool, report: &mut Report) {
    let none = Map::new();
    let metadata = object.get("metadata").and_then(Value::as_object).unwrap_or(&none);
    let map = |field| metadata.get(field).and_then(Value::as_object).unwrap_or(&none);
    report.at_field("metadata", |report| {
        check_name(metadata, report);
        check_namespace(metadata, namespaced, report);
        report.at_field("labels", |report| check_labels(map("labels"), report));
        report.at_field("annotations", |report| {
            check_annotations(map("annotations"), report);
        });
    });
}

/// Returns a field that is set: neither absent, nor null, nor empty.
fn given<'a>(metadata: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    metadata
        .get(field)
        .filter(|value| !value.is_null() && value.as_str() != Some(""))
}

fn check_name(metadata: &Map<String, Value>, report: &mut Report) {
    let (name, prefix) = (given(metadata, "name"), given(metadata, "generateName"));
    if name.is_none() && prefix.is_none() {
        report.at_field("name", |report| report.add("is required; set it"));
    }
    // The API server appends letters and digits to a prefix.
    for (field, value, suffix) in [("name", name, ""), ("generateName", prefix, "x")] {
        let Some((value, text)) = value.and_then(|value| Some((value, value.as_str()?))) else {
            continue;
        };
        if !is_subdomain(&format!("{text}{suffix}")) {
            report.at_field(field, |report| {
                report.add(format!("{NAME_RULE}, got {}", shown(value)));
            });
        }
    }
}

fn check_namespace(metadata: &Map<String, Value>, namespaced: bool, report: &mut Report) {
    let Some(value) = given(metadata, "namespace") else {
        return;
    };
    if !namespaced {
        report.at_field("namespace", |report| {
            report.add("must not be set: objects of this kind have no namespace; remove it");
        });
    } else if value.as_str().is_some_and(|name| !is_label(name)) {
        report.at_field("namespace", |report| {
            report.add(format!("{NAMESPACE_RULE}, got {}", shown(value)));
        });
    }
}

fn check_labels(labels: &Map<String, Value>, report: &mut Report) {
    for (key, value) in labels {
        check_key(key, report);
        if value
            .as_str()
            .is_some_and(|text| !text.is_empty() && !is_qualified(text))
        {
            report.at_key(key, |report| {
                report.add(format!("{LABEL_RULE}, got {}", shown(value)));
            });
        }
    }
}

fn check_annotations(annotations: &Map<String, Value>, report: &mut Report) {
    let mut size = 0;
    for (key, value) in annotations {
        check_key(&key.to_lowercase(), report);
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if size > MAX_ANNOTATIONS {
        report.add(format!(
            "must have at most {MAX_ANNOTATIONS} bytes in total, got {size}"
        ));
    }
}

fn check_key(key: &str, report: &mut Report) {
    let (domain, name) = match key.split_once('/') {
        Some((domain, name)) => (Some(domain), name),
        None => (None, key),
    };
    if !is_qualified(name) || domain.is_some_and(|domain| !is_subdomain(domain)) {
        report.add(format!("keys {KEY_RULE}, got {}", shown(&key.into())));
    }
}

/// Reports whether a text is a lower-case RFC 1123 label.
fn is_label(text: &str) -> bool {
    text.len() <= 63 && is_part(text)
}

/// Reports whether a text is a lower-case RFC 1123 subdomain. As in Kubernetes, its parts may be longer than a label.
fn is_subdomain(text: &str) -> bool {
    text.len() <= 253 && text.split('.').all(is_part)
}

fn is_part(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    text.bytes().all(inner) && ends_well(text)
}

/// Reports whether a text can be the part of a key after the slash, or the value of a label.
fn is_qualified(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.len() <= 63 && text.bytes().all(inner) && ends_well(text)
}

fn ends_well(text: &str) -> bool {
    let ends = [text.bytes().next(), text.bytes().last()];
    ends.iter()
        .all(|byte| byte.is_some_and(|byte| byte.is_ascii_alphanumeric()))
}
