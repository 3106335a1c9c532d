//! What a schema says about one field, in words: the common language of schemas and tables.

use std::collections::BTreeSet;

use serde_json::Value;

/// Facts such as `int32`, `max items 16`, `list-map by name`; equal sets mean equal schemas.
pub(crate) type Facts = BTreeSet<String>;

const BOUNDS: [(&str, &str); 8] = [
    ("minimum", "min"),
    ("maximum", "max"),
    ("minLength", "min length"),
    ("maxLength", "max length"),
    ("minItems", "min items"),
    ("maxItems", "max items"),
    ("minProperties", "min properties"),
    ("maxProperties", "max properties"),
];

/// Returns all that a schema says about its value, without what is below it.
pub(crate) fn of(schema: &Value) -> Facts {
    let mut facts = Facts::from([kind(schema)]);
    for (keyword, words) in BOUNDS {
        if let Some(bound) = schema.get(keyword) {
            facts.insert(format!("{words} {bound}"));
        }
    }
    if let Some(length) = schema.pointer("/items/maxLength") {
        facts.insert(format!("each max length {length}"));
    }
    if let Some(default) = schema.get("default") {
        facts.insert(format!("default {default}"));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        facts.insert(one_of(
            values.iter().map(|value| value.as_str().unwrap_or_default()),
        ));
    }
    facts.extend(merging(schema));
    let rules = schema.get("x-kubernetes-validations").and_then(Value::as_array);
    for rule in rules.into_iter().flatten() {
        let immutable = rule["rule"] == "self == oldSelf";
        facts.insert(if immutable { "immutable" } else { "rule" }.to_owned());
        assert!(
            rule["message"]
                .as_str()
                .is_some_and(|message| !message.is_empty()),
            "{rule} has no message"
        );
    }
    facts
}

/// How server-side apply merges a value.
pub(crate) fn merging(schema: &Value) -> Option<String> {
    if let Some(map) = schema.get("x-kubernetes-map-type").and_then(Value::as_str) {
        return (map == "atomic").then(|| "map atomic".to_owned());
    }
    let list = schema.get("x-kubernetes-list-type")?.as_str()?;
    let keys: Vec<_> = schema["x-kubernetes-list-map-keys"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    Some(if list == "map" {
        format!("list-map by {}", keys.join(", "))
    } else {
        format!("list {list}")
    })
}

/// The type of a schema in one word: `string`, `int32`, `date-time`, `[]object`, `map[string]string`.
pub(crate) fn kind(schema: &Value) -> String {
    if schema["x-kubernetes-int-or-string"] == true {
        return if schema.get("pattern").is_some() {
            "quantity"
        } else {
            "int-or-string"
        }
        .to_owned();
    }
    if let Some(items) = schema.get("items") {
        assert_eq!(schema["type"], "array");
        return format!("[]{}", kind(items));
    }
    if let Some(values) = schema.get("additionalProperties") {
        assert_eq!(schema["type"], "object");
        return format!("map[string]{}", kind(values));
    }
    let kind = schema["type"].as_str().unwrap_or("nothing");
    match schema.get("format").and_then(Value::as_str) {
        Some(format) => format.to_owned(),
        None if kind == "integer" => "int".to_owned(),
        None => kind.to_owned(),
    }
}

/// Returns the allowed values, sorted.
pub(crate) fn one_of<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let values: BTreeSet<_> = values.collect();
    format!("one of {values:?}")
}
