//! The CRDs against the table of the wire format, field by field, in both directions.

use std::collections::BTreeMap;

use serde_json::Value;

use super::core_types::Published;
use super::facts::{self, Facts};
use super::schema_of;

const TABLES: &str = include_str!("../data/fields.md");

/// A rule of our own, on top of the table: two gang schedulers cannot both place a pod.
const OURS: [(&str, &str); 1] = [("spec.podGroupPolicy", "rule")];

/// Fields of our own, with all that is below them. They are in runtimes only: what a client writes back whole, a
/// TrainJob, has exactly the fields of the table.
const OUR_FIELDS: [&str; 5] = [
    "spec.mlPolicy.custom",
    "spec.mlPolicy.paddle",
    "spec.mlPolicy.tensorflow",
    "spec.mlPolicy.torch.elastic",
    "spec.podGroupPolicy.workload",
];

/// Values that are allowed on top of the table: path, what the table says, what the schema says.
const OUR_VALUES: [(&str, &str, &str); 1] = [(
    "spec.mlPolicy.mpi.mpiImplementation",
    "one of \"OpenMPI\", \"\"",
    "one of \"OpenMPI\", \"Intel\", \"MPICH\", \"\"",
)];

/// What an embedded object's metadata keeps.
const METADATA: [&str; 5] = ["annotations", "finalizers", "labels", "name", "namespace"];

/// A row of the table: the type as it is written there, and everything that is said about the field.
#[derive(Debug)]
struct Row {
    kind: String,
    facts: Facts,
}

impl Row {
    /// Gives the type of Kubernetes' own that the field has.
    fn core_type(&self, path: &str) -> Option<String> {
        let name = self.kind.trim_start_matches("[]");
        Some(match name {
            "metav1.Condition" => "io.k8s.apimachinery.pkg.apis.meta.v1.Condition".to_owned(),
            "batch/v1 JobTemplateSpec" => "io.k8s.api.batch.v1.JobTemplateSpec".to_owned(),
            "v1 security context" if path.ends_with("[].securityContext") => {
                "io.k8s.api.core.v1.SecurityContext".to_owned()
            }
            "v1 security context" => "io.k8s.api.core.v1.PodSecurityContext".to_owned(),
            _ => format!("io.k8s.api.core.v1.{}", name.strip_prefix("v1.")?),
        })
    }
}

/// Reads the table of a resource.
fn table(resource: &str) -> BTreeMap<String, Row> {
    let section = TABLES
        .split("\n## ")
        .find(|section| section.starts_with(resource))
        .expect("the resource has a table");
    let mut rows = BTreeMap::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = line
            .trim_matches('|')
            .splitn(4, " | ")
            .map(|cell| cell.trim().trim_matches('`'))
            .collect();
        let [path, kind, required, constraints] = cells[..] else {
            panic!("{line} has not four cells");
        };
        if path != "(object)" {
            rows.insert(path.to_owned(), row(kind, required, constraints));
        }
    }
    rows
}

fn row(kind: &str, required: &str, constraints: &str) -> Row {
    // The table leaves the brackets off env.
    let list = kind == "v1.EnvVar" && !kind.starts_with("[]");
    let kind = if list {
        format!("[]{kind}")
    } else {
        kind.to_owned()
    };
    let mut facts: Facts = constraints
        .split(';')
        .map(str::trim)
        .filter(|text| !text.is_empty())
        .map(fact)
        .collect();
    facts.insert(json_kind(&kind));
    if required == "yes" {
        facts.insert("required".to_owned());
    }
    Row { kind, facts }
}

/// The JSON form of a type of the table.
fn json_kind(kind: &str) -> String {
    if let Some(item) = kind.strip_prefix("[]") {
        return format!("[]{}", json_kind(item));
    }
    let word = kind.split([' ', '.', '/']).next().unwrap_or_default();
    if matches!(word, "v1" | "metav1" | "batch" | "metadata") {
        "object"
    } else {
        kind
    }
    .to_owned()
}

/// A constraint in the words of [`facts`]; what is said in prose is a rule.
fn fact(constraint: &str) -> String {
    if let Some(values) = constraint.strip_prefix("one of ") {
        return facts::one_of(values.split(", ").map(|value| value.trim_matches('"')));
    }
    if let Some(min) = constraint.strip_prefix(">= ") {
        return format!("min {min}");
    }
    let known = [
        "min ",
        "max ",
        "each max ",
        "list ",
        "list-map ",
        "map atomic",
        "default ",
        "immutable",
    ];
    let is_known = known.iter().any(|start| constraint.starts_with(start));
    if is_known { constraint } else { "rule" }.to_owned()
}

/// Collects the fields of a schema by path, not those within Kubernetes' own types.
fn walk(
    schema: &Value,
    path: &str,
    rows: &BTreeMap<String, Row>,
    found: &mut BTreeMap<String, (Facts, Value)>,
) {
    let rowed = rows.get(path);
    if rowed.is_some_and(|row| row.kind == "metadata" || row.core_type(path).is_some()) {
        return;
    }
    if let Some(items) = schema.get("items") {
        let path = format!("{path}[]");
        if rows.contains_key(&path) {
            found.insert(path.clone(), (facts::of(items), items.clone()));
        }
        return walk(items, &path, rows, found);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        if OUR_FIELDS.contains(&path.as_str()) {
            assert!(!rows.contains_key(&path), "{path} is in the table");
            continue;
        }
        let mut facts = facts::of(property);
        if schema["required"]
            .as_array()
            .is_some_and(|required| required.iter().any(|field| field == name))
        {
            facts.insert("required".to_owned());
        }
        found.insert(path.clone(), (facts, property.clone()));
        walk(property, &path, rows, found);
    }
}

fn says_what_the_table_says(kind: &str, resource: &str) {
    let rows = table(resource);
    assert!(rows.len() > 40, "the table of {resource} was not read");
    let mut found = BTreeMap::new();
    walk(&schema_of(kind), "", &rows, &mut found);
    found.retain(|path, _| path.starts_with("spec") || path.starts_with("status"));
    let published = Published::read();
    let mut differences = Vec::new();
    for (path, (facts, schema)) in &found {
        let Some(row) = rows.get(path) else {
            differences.push(format!("{path} is not in the table"));
            continue;
        };
        let mut facts = facts.clone();
        for (_, fact) in OURS.iter().filter(|(ours, _)| ours == path) {
            assert!(facts.remove(*fact), "{path} lacks our own {fact}");
        }
        if let Some(name) = row.core_type(path) {
            published.compare(item(schema), &name, path, &mut differences);
            // What is said of the type itself is not in the table.
            facts.retain(|fact| fact != "map atomic" || row.facts.contains(fact));
        }
        if row.kind == "metadata" {
            let kept: Vec<_> = schema["properties"]
                .as_object()
                .expect("metadata has fields")
                .keys()
                .collect();
            assert_eq!(kept, METADATA, "{path}");
        }
        let mut wanted = row.facts.clone();
        for (_, theirs, ours) in OUR_VALUES.iter().filter(|(ours, ..)| ours == path) {
            assert!(
                wanted.remove(&fact(theirs)),
                "{path}: the table does not say {theirs}"
            );
            wanted.insert(fact(ours));
        }
        if facts != wanted {
            differences.push(format!("{path}: the schema says {facts:?}, the table {wanted:?}"));
        }
    }
    let missing = rows.keys().filter(|path| !found.contains_key(*path));
    differences.extend(missing.map(|path| format!("{path} is missing")));
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn item(schema: &Value) -> &Value {
    schema.get("items").unwrap_or(schema)
}

#[test]
fn a_train_job_has_the_fields_of_the_table() {
    says_what_the_table_says("TrainJob", "trainjobs");
}

#[test]
fn a_training_runtime_has_the_fields_of_the_table() {
    says_what_the_table_says("TrainingRuntime", "clustertrainingruntimes");
}

#[test]
fn a_cluster_training_runtime_has_the_fields_of_the_table() {
    says_what_the_table_says("ClusterTrainingRuntime", "clustertrainingruntimes");
}

#[test]
fn both_runtime_kinds_have_one_schema() {
    assert_eq!(
        schema_of("TrainingRuntime")["properties"]["spec"],
        schema_of("ClusterTrainingRuntime")["properties"]["spec"]
    );
}

#[test]
fn every_field_has_a_short_description() {
    fn check(schema: &Value, path: &str) {
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            let path = format!("{path}.{name}");
            if path != ".metadata" && !path.starts_with(".metadata.") {
                let description = property["description"].as_str().unwrap_or_default();
                assert!(!description.is_empty(), "{path} has no description");
                assert!(description.chars().count() <= 128, "{path}: {description}");
            }
            check(property, &path);
        }
        for below in ["items", "additionalProperties"]
            .iter()
            .filter_map(|key| schema.get(*key))
        {
            check(below, path);
        }
    }
    for kind in ["TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"] {
        check(&schema_of(kind), "");
    }
}
