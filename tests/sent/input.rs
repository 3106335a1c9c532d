//! The inputs of the golden files: what they become when they are stored, and what `render` prints for them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use trainer::api::{TrainJob, names};
use trainer::catalog;
use trainer::k8s::diff::{self, Unkeyed};
use trainer::schema;

use crate::program::{documents, golden, trainer, verdicts};

/// A golden input of which something is rendered.
pub(crate) struct Input {
    pub(crate) name: String,
    /// The objects as an API server stores them.
    objects: Vec<Value>,
    /// The rendered objects of each TrainJob, masked, in the order in which they are applied.
    pub(crate) rendered: BTreeMap<String, Vec<Value>>,
}

impl Input {
    /// Reads all inputs that end in objects.
    pub(crate) fn all(namespace: &str) -> Vec<Self> {
        let mut files = Vec::new();
        collect(&golden(""), &mut files);
        files.sort();
        files
            .iter()
            .filter_map(|file| Self::read(file, namespace))
            .collect()
    }

    fn read(file: &str, namespace: &str) -> Option<Self> {
        let run = trainer(&["render", "-n", namespace, "-o", "json", "-f", file]);
        if run.status == 2 || run.out.is_empty() {
            return None;
        }
        let objects = stored(file, namespace, run.status != 0);
        let ours = |name: &str| objects.iter().any(|object| is_ours(object, name));
        let mut rendered: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        for line in run.out.lines() {
            let object: Value = serde_json::from_str(line).unwrap();
            if ours(owner(&object)) {
                rendered
                    .entry(owner(&object).to_owned())
                    .or_default()
                    .push(masked(&object));
            }
        }
        (!rendered.is_empty()).then(|| Self {
            name: file.to_owned(),
            objects,
            rendered,
        })
    }

    /// Lists the objects as an API server stores them, the shipped runtimes first.
    pub(crate) fn stored(&self) -> impl Iterator<Item = Value> {
        let shipped = catalog::runtimes().unwrap().into_iter().map(with_defaults);
        shipped.chain(self.objects.iter().cloned())
    }

    /// Lists the TrainJobs that become objects.
    pub(crate) fn jobs(&self) -> impl Iterator<Item = &str> + Clone {
        self.rendered.keys().map(String::as_str)
    }
}

fn collect(folder: &Path, files: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|e| e == "yaml") && !path.ends_with("expected.yaml") {
            let below = path.strip_prefix(golden("")).unwrap();
            files.push(below.to_str().unwrap().to_owned());
        }
    }
}

/// Returns the objects of a file that an API server with our admission stores. `refused` says that it refuses some.
fn stored(file: &str, namespace: &str, refused: bool) -> Vec<Value> {
    let verdicts = if refused {
        verdicts(&trainer(&["validate", "-n", namespace, "-o", "json", "-f", file]))
    } else {
        Vec::new()
    };
    let mut verdicts = verdicts.into_iter();
    let text = std::fs::read_to_string(golden(file)).unwrap();
    let mut objects = Vec::new();
    for mut object in documents(&text)
        .into_iter()
        .filter(|document| !document.is_null())
    {
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        let refused = schema::of(&kind).is_some() && verdicts.next().is_some_and(|verdict| !verdict.allowed);
        if refused {
            continue;
        }
        if let (Some(prefix), None) = (
            object["metadata"]["generateName"].as_str(),
            object["metadata"]["name"].as_str(),
        ) {
            object["metadata"]["name"] = json!(format!("{prefix}xxxxx"));
        }
        let is_namespaced =
            !["ClusterTrainingRuntime", "RuntimeClass", "PriorityClass"].contains(&kind.as_str());
        if is_namespaced && object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = json!(namespace);
        }
        objects.push(with_defaults(object));
    }
    objects
}

fn with_defaults(mut object: Value) -> Value {
    if let Some(schema) = object["kind"].as_str().and_then(schema::of) {
        schema.prune(&mut object);
        schema.set_defaults(&mut object);
    }
    object
}

/// Reports whether an object is the TrainJob `name`, and ours to build.
fn is_ours(object: &Value, name: &str) -> bool {
    object["kind"] == "TrainJob"
        && object["metadata"]["name"] == name
        && serde_json::from_value::<TrainJob>(object.clone())
            .unwrap()
            .is_ours()
}

/// Returns the name of the TrainJob that an object belongs to.
pub(crate) fn owner(object: &Value) -> &str {
    let owner = &object["metadata"]["ownerReferences"][0];
    owner["name"].as_str().unwrap_or_default()
}

/// Masks what only a cluster has: UIDs, versions, times, and the data of keys.
pub(crate) fn masked(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["ownerReferences"][0]["uid"] = json!("masked");
    // A patch names the object that it is for by its UID.
    object["metadata"].as_object_mut().unwrap().remove("uid");
    match object["kind"].as_str() {
        Some("Secret") => mask_keys(&mut object),
        // The digest is that of a snapshot with UID and version.
        Some("JobSet") => {
            object["metadata"]["annotations"][names::SNAPSHOT_DIGEST_ANNOTATION] = json!("masked");
        }
        Some("ConfigMap") if object["data"]["runtime"].is_string() => mask_snapshot(&mut object),
        _ => {}
    }
    object
}

/// Keeps the names of a Secret's keys.
fn mask_keys(secret: &mut Value) {
    let fields = secret.as_object_mut().unwrap();
    let data = fields.remove("data").or_else(|| fields.remove("stringData"));
    let keys: Vec<String> = data
        .iter()
        .filter_map(Value::as_object)
        .flat_map(|data| data.keys().cloned())
        .collect();
    fields.insert("data".to_owned(), json!(keys));
}

/// Turns the text of a snapshot into the runtime that it holds, without what an API server sets.
fn mask_snapshot(snapshot: &mut Value) {
    let mut runtime = documents(snapshot["data"]["runtime"].as_str().unwrap()).remove(0);
    let metadata = runtime["metadata"].as_object_mut().unwrap();
    metadata.retain(|field, _| {
        !["uid", "resourceVersion", "creationTimestamp", "generation"].contains(&field.as_str())
    });
    snapshot["data"]["runtime"] = runtime;
}

/// Returns the first difference, for people.
pub(crate) fn first_difference(sent: &[Value], rendered: &[Value]) -> String {
    let titles = |objects: &[Value]| -> Vec<String> {
        objects
            .iter()
            .map(|object| format!("{} {}", object["kind"], object["metadata"]["name"]))
            .collect()
    };
    if titles(sent) != titles(rendered) {
        return format!("  sent {:?}\n  rendered {:?}", titles(sent), titles(rendered));
    }
    let pairs = sent
        .iter()
        .zip(rendered)
        .filter(|(sent, rendered)| sent != rendered);
    let mut text = String::new();
    for (sent, rendered) in pairs {
        for difference in diff::differences(rendered, sent, Unkeyed::ByIndex) {
            text = format!(
                "{text}  {} {}: {:?}\n",
                sent["kind"], difference.path, difference.change
            );
        }
    }
    text
}
