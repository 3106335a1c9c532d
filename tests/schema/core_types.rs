//! The types of Kubernetes' own within the CRDs against what Kubernetes publishes about them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::facts;
use super::schema_of;

const PUBLISHED: &str = include_str!("../data/core_types.txt");
const METADATA: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
const CONDITION: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.Condition";

/// What is said about a field or a definition.
struct Line {
    kind: String,
    facts: BTreeSet<String>,
}

/// Definition → field → what is published; the definition itself is the empty field.
pub(crate) struct Published(BTreeMap<String, BTreeMap<String, Line>>);

impl Published {
    /// Reads the published facts.
    pub(crate) fn read() -> Self {
        let mut definitions: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for line in PUBLISHED.lines().filter(|line| !line.starts_with('#')) {
            let (subject, facts) = line.split_once(": ").expect("a line has a subject");
            let (definition, field) = subject.split_once(' ').unwrap_or((subject, ""));
            let mut facts = facts.split(", ");
            let kind = facts.next().expect("a line has a type").to_owned();
            let facts = facts.map(str::to_owned).collect();
            definitions
                .entry(definition.to_owned())
                .or_default()
                .insert(field.to_owned(), Line { kind, facts });
        }
        Self(definitions)
    }

    /// Compares a schema with a definition, and everything below.
    pub(crate) fn compare(
        &self,
        schema: &Value,
        definition: &str,
        path: &str,
        differences: &mut Vec<String>,
    ) {
        if definition == CONDITION {
            return compare_condition(schema);
        }
        let lines = self
            .0
            .get(definition)
            .unwrap_or_else(|| panic!("{definition} is not published"));
        let empty = serde_json::Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        let fields: BTreeSet<_> = lines.keys().filter(|field| !field.is_empty()).collect();
        let found: BTreeSet<_> = properties.keys().collect();
        if fields != found {
            differences.push(format!(
                "{path}: {definition} has {fields:?}, the schema {found:?}"
            ));
        }
        for (name, property) in properties {
            let Some(line) = lines.get(name) else { continue };
            let path = format!("{path}.{name}");
            let mut said = said(property, name, schema);
            // What is said of the field's own type comes with it.
            let own = self.0.get(&line.kind).and_then(|lines| lines.get(""));
            let expected: BTreeSet<_> = line
                .facts
                .iter()
                .chain(own.iter().flat_map(|own| &own.facts))
                .cloned()
                .collect();
            said.retain(|fact| fact != "map-type \"granular\"");
            let expected: BTreeSet<_> = expected
                .into_iter()
                .filter(|fact| fact != "map-type \"granular\"")
                .collect();
            if said != expected {
                differences.push(format!(
                    "{path}: published {expected:?}, the schema says {said:?}"
                ));
            }
            self.compare_kind(property, &line.kind, &path, differences);
        }
    }

    fn compare_kind(&self, schema: &Value, kind: &str, path: &str, differences: &mut Vec<String>) {
        if let Some(item) = kind.strip_prefix("[]") {
            return self.compare_kind(&schema["items"], item, path, differences);
        }
        if let Some(values) = kind.strip_prefix("map[]") {
            return self.compare_kind(&schema["additionalProperties"], values, path, differences);
        }
        let expected = match kind {
            QUANTITY => "quantity",
            INT_OR_STRING => "int-or-string",
            METADATA => "object",
            // No type has only types of its own below, or is a text in a format of its own.
            _ => match self.0.get(kind) {
                Some(lines) if lines[""].kind == "object" => {
                    assert_eq!(facts::kind(schema), "object", "{path}");
                    return self.compare(schema, kind, path, differences);
                }
                Some(lines) => &lines[""].kind,
                None => kind,
            },
        };
        let found = facts::kind(schema);
        if found != expected {
            differences.push(format!(
                "{path}: published as {expected}, the schema says {found}"
            ));
        }
    }
}

/// Returns what a schema says about one of its fields, in the terms of the published facts.
fn said(property: &Value, name: &str, parent: &Value) -> BTreeSet<String> {
    let mut said = BTreeSet::new();
    if parent["required"]
        .as_array()
        .is_some_and(|required| required.iter().any(|field| field == name))
    {
        said.insert("required".to_owned());
    }
    for keyword in [
        "x-kubernetes-list-type",
        "x-kubernetes-list-map-keys",
        "x-kubernetes-map-type",
        "default",
    ] {
        if let Some(value) = property.get(keyword) {
            said.insert(format!("{} {value}", keyword.trim_start_matches("x-kubernetes-")));
        }
    }
    said
}

/// Conditions are in every CRD as controller-gen makes them from the markers of `metav1.Condition`.
fn compare_condition(schema: &Value) {
    assert_eq!(
        schema["required"],
        json!(["lastTransitionTime", "message", "reason", "status", "type"])
    );
    let properties = &schema["properties"];
    assert_eq!(properties["status"]["enum"], json!(["True", "False", "Unknown"]));
    assert_eq!(properties["lastTransitionTime"]["format"], "date-time");
    assert_eq!(properties["message"]["maxLength"], 32768);
    assert_eq!(properties["observedGeneration"]["minimum"], 0);
    assert_eq!(properties["reason"]["minLength"], 1);
    assert_eq!(properties["reason"]["maxLength"], 1024);
    assert_eq!(properties["type"]["maxLength"], 316);
}

#[test]
fn a_port_is_known_by_number_and_protocol() {
    let pod = "/properties/spec/properties/template/properties/spec/properties/replicatedJobs/items/properties/template\
               /properties/spec/properties/template/properties/spec";
    let pod = schema_of("ClusterTrainingRuntime")
        .pointer(pod)
        .expect("a runtime has pods")
        .clone();
    let ports = &pod["properties"]["containers"]["items"]["properties"]["ports"];
    assert_eq!(
        ports["x-kubernetes-list-map-keys"],
        json!(["containerPort", "protocol"])
    );
    assert_eq!(ports["items"]["properties"]["protocol"]["default"], "TCP");
}
