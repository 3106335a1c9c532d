//! The facts about Kubernetes' own types that k8s-openapi leaves out, taken from Kubernetes' published OpenAPI.
//!
//! Reads `api/openapi-spec/v3` of a Kubernetes source tree and returns two files: the table that completes the library's
//! schemas, and all published facts, one field in each line, with which a test compares the CRDs.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

/// Types that a runtime embeds. They refer to all other types that are needed.
const ROOTS: [&str; 2] = [
    "io.k8s.api.batch.v1.JobTemplateSpec",
    "io.k8s.api.core.v1.PersistentVolumeClaim",
];
/// Embedded objects have their own metadata type with five fields, so the published one is not needed.
const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const FILES: [&str; 2] = ["apis__batch__v1_openapi.json", "api__v1_openapi.json"];
const KEYWORDS: [&str; 3] = [
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
];

/// The library's table.
pub(crate) const TABLE: &str = "src/schema/core_types.json";
/// The test's copy of all published facts.
pub(crate) const PUBLISHED: &str = "tests/data/core_types.txt";

/// Reads the published documents, and returns the contents of [`TABLE`] and [`PUBLISHED`].
pub(crate) fn generate(openapi: &Path) -> Result<[(&'static str, String); 2]> {
    let definitions = reachable(&read(openapi)?)?;
    Ok([
        (TABLE, table(&definitions)?),
        (PUBLISHED, published(&definitions)),
    ])
}

fn read(openapi: &Path) -> Result<Map<String, Value>> {
    let mut definitions = Map::new();
    for file in FILES {
        let path = openapi.join(file);
        let text = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
        let mut document: Value =
            serde_json::from_slice(&text).with_context(|| format!("parsing {}", path.display()))?;
        match document.pointer_mut("/components/schemas").map(Value::take) {
            Some(Value::Object(schemas)) => definitions.extend(schemas),
            _ => bail!("{} has no components.schemas", path.display()),
        }
    }
    Ok(definitions)
}

/// Returns the embedded definitions by name.
fn reachable(definitions: &Map<String, Value>) -> Result<BTreeMap<String, Value>> {
    let mut found = BTreeMap::new();
    let mut queue: Vec<String> = ROOTS.map(str::to_owned).into();
    while let Some(name) = queue.pop() {
        if name == METADATA || found.contains_key(&name) {
            continue;
        }
        let schema = definitions
            .get(&name)
            .with_context(|| format!("{name} is not published"))?;
        references(schema, &mut queue);
        found.insert(name, schema.clone());
    }
    Ok(found)
}

fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            found.extend(object.get("$ref").and_then(definition));
            object.values().for_each(|value| references(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

fn definition(reference: &Value) -> Option<String> {
    Some(reference.as_str()?.rsplit('/').next()?.to_owned())
}

/// Returns what k8s-openapi lacks or contradicts: one definition in each line.
fn table(definitions: &BTreeMap<String, Value>) -> Result<String> {
    let mut lines = Vec::new();
    for (name, schema) in definitions {
        let mut fields = Map::new();
        let mut own = keywords(schema, None);
        own.extend(
            schema
                .get("required")
                .map(|required| ("required".to_owned(), required.clone())),
        );
        if !own.is_empty() {
            fields.insert(String::new(), own.into());
        }
        for (field, property) in properties(schema) {
            let keywords = keywords(property, default(schema, field, property));
            if !keywords.is_empty() {
                fields.insert(field.clone(), keywords.into());
            }
        }
        lines.push(format!("  \"{name}\": {}", serde_json::to_string(&fields)?));
    }
    Ok(format!("{{\n{}\n}}\n", lines.join(",\n")))
}

fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

fn keywords(schema: &Value, default: Option<&Value>) -> Map<String, Value> {
    let keyword = |name: &str| Some((name.to_owned(), schema.get(name)?.clone()));
    let mut found: Map<String, Value> = KEYWORDS.into_iter().filter_map(keyword).collect();
    found.extend(default.map(|default| ("default".to_owned(), default.clone())));
    found
}

fn required<'a>(schema: &'a Value, field: &str) -> Option<&'a Value> {
    schema
        .get("required")?
        .as_array()?
        .iter()
        .find(|name| *name == field)
}

/// Returns the default of a field. Go's zero values of required fields and of structs are published as defaults too, but
/// the API server does not apply them.
fn default<'a>(schema: &'a Value, field: &str, property: &'a Value) -> Option<&'a Value> {
    let default = property.get("default")?;
    let zero = default.as_object().is_some_and(Map::is_empty) || required(schema, field).is_some();
    (!zero).then_some(default)
}

/// Returns all published facts: `definition field: type, facts`, one field in each line.
fn published(definitions: &BTreeMap<String, Value>) -> String {
    let mut lines = vec![
        "# Kubernetes' published OpenAPI of the types that a runtime embeds.".to_owned(),
        "# Made by `cargo xtask generate --openapi`; one line a field: definition, field, type, facts."
            .to_owned(),
    ];
    for (name, schema) in definitions {
        lines.push(format!("{name}: {}", facts(schema, false, None)));
        for (field, property) in properties(schema) {
            let required = required(schema, field).is_some();
            let default = default(schema, field, property);
            lines.push(format!("{name} {field}: {}", facts(property, required, default)));
        }
    }
    lines.join("\n") + "\n"
}

fn facts(schema: &Value, required: bool, default: Option<&Value>) -> String {
    let mut facts = vec![kind(schema)];
    if required {
        facts.push("required".to_owned());
    }
    let keywords = keywords(schema, default);
    let keywords = keywords
        .iter()
        .map(|(name, value)| format!("{} {value}", name.trim_start_matches("x-kubernetes-")));
    facts.extend(keywords);
    facts.join(", ")
}

/// Returns the type of a schema in one word: `string`, `int32`, `[]core.v1.EnvVar`, `map[]Quantity`.
fn kind(schema: &Value) -> String {
    let reference = schema.get("$ref").or_else(|| schema.pointer("/allOf/0/$ref"));
    if let Some(name) = reference.and_then(definition) {
        return name;
    }
    if let Some(items) = schema.get("items") {
        return format!("[]{}", kind(items));
    }
    if let Some(values) = schema.get("additionalProperties") {
        return format!("map[]{}", kind(values));
    }
    let word = schema.get("format").or_else(|| schema.get("type"));
    word.and_then(Value::as_str).unwrap_or("any").to_owned()
}
