//! Converts the JSON schema of a Rust type into the structural schema that Kubernetes accepts.
//!
//! Knows the shape of such a schema: no references, no unions with null, int-or-string, embedded metadata of five
//! fields, short descriptions. Facts about fields come from the types and from [`core_types`]; the only ones here are
//! about types whose JSON form differs from their Rust form.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::core_types;
use super::describe;
use crate::api::trainjob::MetadataPatch;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const CONDITION: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Condition";
const FIELDS_V1: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";

/// The pattern of a quantity. Integers, and floats without a fraction, are quantities too.
pub(super) const QUANTITY_PATTERN: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

/// Keywords that a structural schema keeps.
const KEPT: [&str; 21] = [
    "type",
    "format",
    "description",
    "default",
    "enum",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "required",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-int-or-string",
    "x-kubernetes-validations",
    "anyOf",
];

/// Returns the structural schema of `T`.
pub(super) fn of<T: JsonSchema>() -> Map<String, Value> {
    let expander = Expander::new::<T>();
    expander.expand(&expander.root)
}

/// Replaces references by the definitions that they name.
struct Expander {
    root: Map<String, Value>,
    definitions: Map<String, Value>,
    metadata: Value,
}

impl Expander {
    fn new<T: JsonSchema>() -> Self {
        let mut root = generate::<T>();
        let definitions = match root.remove("$defs") {
            Some(Value::Object(definitions)) => definitions,
            _ => Map::new(),
        };
        Self {
            root,
            definitions,
            metadata: Value::Object(generate::<MetadataPatch>()),
        }
    }

    /// Expands a schema: first its reference, then its own keywords.
    fn expand(&self, schema: &Map<String, Value>) -> Map<String, Value> {
        let mut expanded = self.base(schema);
        for (key, value) in schema {
            match (key.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    let properties = properties
                        .iter()
                        .map(|(name, property)| (name.clone(), self.expand_value(property)))
                        .collect();
                    expanded.insert(key.clone(), Value::Object(properties));
                }
                ("items" | "additionalProperties", Value::Object(_)) => {
                    expanded.insert(key.clone(), self.expand_value(value));
                }
                ("type", Value::Array(types)) => {
                    let kind = types.iter().find(|kind| *kind != "null");
                    expanded.extend(kind.map(|kind| (key.clone(), kind.clone())));
                }
                ("default", Value::Null) => {}
                ("anyOf", _) if is_optional(value) => {}
                ("description", Value::String(text)) => {
                    expanded.insert(key.clone(), describe::short(text).into());
                }
                (kept, _) if KEPT.contains(&kept) => {
                    expanded.insert(key.clone(), value.clone());
                }
                _ => {}
            }
        }
        expanded
    }

    fn expand_value(&self, schema: &Value) -> Value {
        match schema {
            Value::Object(schema) => Value::Object(self.expand(schema)),
            other => other.clone(),
        }
    }

    /// Expands the definition that a schema refers to, alone or in a union with null; empty if there is none.
    fn base(&self, schema: &Map<String, Value>) -> Map<String, Value> {
        if let Some(Value::String(reference)) = schema.get("$ref") {
            return self.definition(reference.trim_start_matches("#/$defs/"));
        }
        let alternative = schema
            .get("anyOf")
            .filter(|any| is_optional(any))
            .and_then(|any| any.as_array()?.iter().find(|one| !is_null(one))?.as_object());
        alternative.map(|one| self.expand(one)).unwrap_or_default()
    }

    fn definition(&self, name: &str) -> Map<String, Value> {
        let schema = match name {
            META => &self.metadata,
            QUANTITY => return int_or_string(Some(QUANTITY_PATTERN)),
            INT_OR_STRING => return int_or_string(None),
            _ => self.definitions.get(name).unwrap_or(&Value::Null),
        };
        let mut expanded = match schema {
            Value::Object(schema) => self.expand(schema),
            _ => Map::new(),
        };
        if name == FIELDS_V1 {
            expanded.insert("x-kubernetes-preserve-unknown-fields".into(), true.into());
        }
        core_types::complete(name, &mut expanded);
        if name == CONDITION {
            bound_condition(&mut expanded);
        }
        expanded
    }
}

fn generate<T: JsonSchema>() -> Map<String, Value> {
    let schema = SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>();
    match schema.to_value() {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

/// Reports whether `anyOf` is a union with null, which schemars writes for an optional field.
fn is_optional(any: &Value) -> bool {
    any.as_array().is_some_and(|any| any.iter().any(is_null))
}

fn int_or_string(pattern: Option<&str>) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert(
        "anyOf".into(),
        json!([{ "type": "integer" }, { "type": "string" }]),
    );
    schema.insert("x-kubernetes-int-or-string".into(), true.into());
    schema.extend(pattern.map(|pattern| ("pattern".into(), pattern.into())));
    schema
}

/// Adds the bounds that `metav1.Condition` has in every CRD. Kubernetes' OpenAPI lacks them.
fn bound_condition(schema: &mut Map<String, Value>) {
    let bounds = json!({
        "message": { "maxLength": 32768 },
        "observedGeneration": { "minimum": 0 },
        "reason": { "minLength": 1, "maxLength": 1024, "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$" },
        "status": { "enum": ["True", "False", "Unknown"] },
        "type": {
            "maxLength": 316,
            "pattern": r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$",
        },
    });
    core_types::overlay(&bounds, schema);
}
