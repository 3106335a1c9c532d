//! Every folder of `golden/conformance`: what Kubeflow Trainer v2.3 makes of the input, or the fields at which it
//! refuses it, corrected where that one is known to be wrong.
//!
//! `differences.json` names the places in which this program is right in another way.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints its summary"
)]

mod program;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use program::{Pending, documents, golden, trainer, verdicts};
use trainer::api::names::SNAPSHOT_DIGEST_ANNOTATION;
use trainer::k8s::quantity::Quantity;

/// Objects that say nothing when they are empty.
const SAY_NOTHING_EMPTY: [&str; 8] = [
    "metadata",
    "resources",
    "labels",
    "annotations",
    "securityContext",
    "status",
    "affinity",
    "nodeSelector",
];
/// Fields that the API server fills.
const SERVERS_OWN: [&str; 5] = [
    "creationTimestamp",
    "uid",
    "managedFields",
    "resourceVersion",
    "generation",
];
/// Kinds that go in and do not come out.
const INPUTS: [&str; 3] = ["TrainJob", "TrainingRuntime", "ClusterTrainingRuntime"];

#[derive(Deserialize)]
struct Difference {
    #[serde(default)]
    ignore: Vec<String>,
}

#[derive(Deserialize)]
struct Refused {
    stage: String,
    object: String,
    fields: Vec<String>,
}

#[test]
fn every_conformance_case_comes_out_as_expected() {
    let folder = golden("conformance");
    let differences: BTreeMap<String, Difference> = read_json(&folder.join("differences.json"));
    let mut cases: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    cases.sort();
    assert!(cases.len() > 100, "the cases are there");
    let mut pending = Pending::of("conformance");
    for case in &cases {
        let ignored = differences.get(case).map_or(&[][..], |d| &d.ignore);
        let found = if folder.join(case).join("expected.yaml").exists() {
            rendered(&folder.join(case), ignored)
        } else {
            refused(
                &folder.join(case),
                &read_json(&folder.join(case).join("refused.json")),
            )
        };
        pending.note(case, found);
    }
    pending.finish();
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Checks that the case renders exactly the expected objects.
fn rendered(case: &Path, ignored: &[String]) -> Result<(), String> {
    let input = case.join("input.yaml");
    let run = trainer(&["render", "-f", input.to_str().unwrap(), "-n", "golden"]);
    if run.status != 0 {
        return Err(format!("render ends with {}: {}", run.status, run.err.trim()));
    }
    let want = objects(&std::fs::read_to_string(case.join("expected.yaml")).unwrap());
    let got = objects(&run.out);
    let mut found = Vec::new();
    for key in want.keys().chain(got.keys()).collect::<BTreeSet<_>>() {
        compare(key, want.get(key), got.get(key), &mut found);
    }
    found.retain(|line| !ignored.iter().any(|start| line.starts_with(start)));
    if found.is_empty() {
        Ok(())
    } else {
        Err(found.join("\n    "))
    }
}

/// Checks that the object of the case is refused, at all the expected fields.
fn refused(case: &Path, want: &Refused) -> Result<(), String> {
    let input = case.join("input.yaml");
    let run = trainer(&[
        "validate",
        "-f",
        input.to_str().unwrap(),
        "-n",
        "golden",
        "-o",
        "json",
    ]);
    if run.status == 2 && want.stage.ends_with("decode") {
        return Ok(());
    }
    let verdicts = verdicts(&run);
    let have: BTreeSet<&str> = verdicts
        .iter()
        .filter(|v| v.is_of(&want.object))
        .flat_map(|verdict| &verdict.problems)
        .map(|p| p.field.as_str())
        .collect();
    if have.is_empty() {
        return Err(format!("{} must be refused at {:?}", want.object, want.fields));
    }
    let lost: Vec<&String> = want
        .fields
        .iter()
        .filter(|f| !f.is_empty() && !have.iter().any(|h| near(h, f)))
        .collect();
    if lost.is_empty() {
        Ok(())
    } else {
        Err(format!("refused at {have:?}, expected {lost:?}"))
    }
}

/// Tells whether two paths are of one value, or of one section of the spec.
fn near(a: &str, b: &str) -> bool {
    let section = |path: &str| {
        let rest = ["spec", "metadata"].iter().find_map(|root| {
            path.strip_prefix(root)
                .filter(|rest| rest.starts_with(['.', '[']))
        });
        rest.map_or(path, |rest| {
            rest[1..].split(['.', '[']).next().unwrap_or_default()
        })
        .to_owned()
    };
    a.starts_with(b) || b.starts_with(a) || section(a) == section(b)
}

/// Reads what was rendered, by kind and name, in the form in which it is compared.
fn objects(text: &str) -> BTreeMap<String, Value> {
    let mut objects = BTreeMap::new();
    for object in documents(text) {
        let Some(kind) = object["kind"].as_str().map(str::to_owned) else {
            continue;
        };
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let snapshot = kind == "ConfigMap" && name.ends_with("-runtime-snapshot");
        if snapshot || INPUTS.contains(&kind.as_str()) {
            continue;
        }
        let mut object = if kind == "Secret" {
            keys_only(&object)
        } else {
            object
        };
        // Ours alone: which runtime snapshot the JobSet was built from.
        if let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") {
            annotations.remove(SNAPSHOT_DIGEST_ANNOTATION);
        }
        objects.insert(format!("{kind}/{name}"), normal("", &object).unwrap_or_default());
    }
    objects
}

/// The content of a Secret is made anew each time; its keys are not.
fn keys_only(secret: &Value) -> Value {
    let keys: BTreeSet<&String> = ["data", "stringData"]
        .iter()
        .filter_map(|member| secret[member].as_object())
        .flat_map(Map::keys)
        .collect();
    json!({"kind": "Secret", "metadata": secret["metadata"], "type": secret["type"], "keys": keys})
}

/// Leaves out what carries no meaning.
fn normal(key: &str, value: &Value) -> Option<Value> {
    let value = match value {
        Value::Null => return None,
        Value::Object(fields) => Value::Object(
            fields
                .iter()
                .filter(|(key, _)| !SERVERS_OWN.contains(&key.as_str()))
                .filter_map(|(key, value)| Some((key.clone(), normal(key, value)?)))
                .collect(),
        ),
        Value::Array(items) => Value::Array(
            items
                .iter()
                .map(|item| normal("", item).unwrap_or_default())
                .collect(),
        ),
        other => other.clone(),
    };
    let empty = value == json!({}) || value == json!([]);
    (!empty || !SAY_NOTHING_EMPTY.contains(&key)).then_some(value)
}

/// Tells whether two values of one place mean the same: amounts may be spelled in several ways.
fn same(path: &str, want: &Value, got: &Value) -> bool {
    let amounts = ["/requests/", "/limits/", "/minResources/"];
    if amounts.iter().any(|parent| path.contains(parent))
        && let (Ok(want), Ok(got)) = (Quantity::from_json(want), Quantity::from_json(got))
    {
        return want == got;
    }
    want == got
}

/// Lists what differs, with the path of each difference.
fn compare(path: &str, want: Option<&Value>, got: Option<&Value>, found: &mut Vec<String>) {
    match (want, got) {
        (Some(Value::Object(want)), Some(Value::Object(got))) => {
            for key in want.keys().chain(got.keys()).collect::<BTreeSet<_>>() {
                compare(&format!("{path}/{key}"), want.get(key), got.get(key), found);
            }
        }
        (Some(Value::Array(want)), Some(Value::Array(got))) => {
            for index in 0..want.len().max(got.len()) {
                let items = [want.get(index), got.get(index)];
                let name = items.iter().flatten().find_map(|item| item.get("name")?.as_str());
                let label = name.map_or_else(|| index.to_string(), str::to_owned);
                compare(&format!("{path}[{label}]"), items[0], items[1], found);
            }
        }
        (Some(want), Some(got)) if same(path, want, got) => {}
        (Some(want), Some(got)) => found.push(format!("{path}: expected {want}, got {got}")),
        (Some(want), None) => found.push(format!("{path}: missing, expected {want}")),
        (None, Some(got)) => found.push(format!("{path}: not expected, got {got}")),
        (None, None) => {}
    }
}
