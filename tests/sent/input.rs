//! The inputs of the golden files: what they become when they are stored, and what `render` prints for them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value, json};
use trainer::api::{TrainJob, names};
use trainer::schema;

use crate::program::{self, Verdict, documents, golden, trainer, try_documents};

/// Kinds without a namespace.
const CLUSTER_WIDE: [&str; 3] = ["ClusterTrainingRuntime", "RuntimeClass", "PriorityClass"];

/// A golden input of which something is rendered.
pub(crate) struct Input {
    pub(crate) name: String,
    /// The objects as an API server stores them; the last one of a name counts.
    pub(crate) objects: Vec<Value>,
    /// The rendered objects of each TrainJob, masked, in the order in which they are applied.
    pub(crate) rendered: BTreeMap<String, Vec<Value>>,
}

impl Input {
    /// Reads a file, changes its objects, and renders them in a namespace; `None` if nothing is rendered.
    pub(crate) fn read(file: &str, namespace: &str, change: impl Fn(&mut Value)) -> Option<Self> {
        let text = std::fs::read_to_string(golden(file)).unwrap();
        let mut objects = try_documents(&text)?;
        objects.retain(|document| !document.is_null());
        objects.iter_mut().for_each(change);
        let changed = write(&objects);
        let path = changed.path().to_str().unwrap();
        let run = trainer(&["render", "-n", namespace, "-o", "json", "-f", path]);
        if run.status != 0 {
            let verdicts = trainer(&["validate", "-n", namespace, "-o", "json", "-f", path]);
            if verdicts.status == 2 {
                return None;
            }
            keep_allowed(&mut objects, &program::verdicts(&verdicts));
        }
        let objects: Vec<Value> = objects
            .into_iter()
            .map(|object| stored(object, namespace))
            .collect();
        let rendered = by_job(&run.out, &objects);
        (!rendered.is_empty()).then(|| Self {
            name: file.to_owned(),
            objects,
            rendered,
        })
    }
}

/// Lists the files of inputs, below the golden files.
pub(crate) fn files() -> Vec<String> {
    let mut files = Vec::new();
    collect(&golden(""), &mut files);
    files.sort();
    files
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

fn write(objects: &[Value]) -> tempfile::NamedTempFile {
    let documents: Vec<String> = objects.iter().map(Value::to_string).collect();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), documents.join("\n---\n")).unwrap();
    file
}

/// Removes what admission refuses. There is a verdict on each object of our kinds, in their order.
fn keep_allowed(objects: &mut Vec<Value>, verdicts: &[Verdict]) {
    let mut verdicts = verdicts.iter();
    objects.retain(|object| {
        let ours = object["kind"].as_str().and_then(schema::of).is_some();
        !ours || verdicts.next().is_none_or(|verdict| verdict.allowed)
    });
}

/// Returns an object as an API server stores it.
fn stored(mut object: Value, namespace: &str) -> Value {
    let metadata = &mut object["metadata"];
    if let (Some(prefix), None) = (metadata["generateName"].as_str(), metadata["name"].as_str()) {
        metadata["name"] = json!(format!("{prefix}xxxxx"));
    }
    let is_cluster_wide = object["kind"]
        .as_str()
        .is_some_and(|kind| CLUSTER_WIDE.contains(&kind));
    if !is_cluster_wide && object["metadata"]["namespace"].is_null() {
        object["metadata"]["namespace"] = json!(namespace);
    }
    with_defaults(object)
}

/// Groups rendered objects by their TrainJobs, without those that a controller of another name manages.
fn by_job(rendered: &str, objects: &[Value]) -> BTreeMap<String, Vec<Value>> {
    let mut jobs: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for line in rendered.lines() {
        let object: Value = serde_json::from_str(line).unwrap();
        let job = owner(&object);
        if objects.iter().any(|object| is_ours(object, job)) {
            jobs.entry(job.to_owned()).or_default().push(masked(&object));
        }
    }
    jobs
}

/// Returns an object of one of our kinds with its defaults, and without unknown fields.
pub(crate) fn with_defaults(mut object: Value) -> Value {
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
    let mut keys: Vec<String> = data
        .iter()
        .filter_map(Value::as_object)
        .flat_map(|data| data.keys().cloned())
        .collect();
    keys.sort();
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
