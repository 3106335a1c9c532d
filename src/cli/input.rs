//! Files in: every document of every file, lists unpacked, and what could not be read.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::yaml;
use crate::api::names;

/// What was found in the files.
#[derive(Default)]
pub(super) struct Input {
    /// The objects, in order.
    pub(super) objects: Vec<Value>,
    /// What could not be read, with file and line.
    pub(super) errors: Vec<String>,
}

/// Reads files; `-` is standard input. Objects of a namespaced kind without a namespace get `namespace`.
pub(super) fn read(files: &[PathBuf], namespace: &str) -> Input {
    let mut input = Input::default();
    for file in files {
        match text(file) {
            Ok(text) => read_stream(&file.display().to_string(), &text, namespace, &mut input),
            Err(error) => input.errors.push(format!("{}: {error}", file.display())),
        }
    }
    input
}

fn text(file: &Path) -> std::io::Result<String> {
    if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text)?;
        return Ok(text);
    }
    std::fs::read_to_string(file)
}

fn read_stream(name: &str, text: &str, namespace: &str, input: &mut Input) {
    for document in yaml::read(text) {
        match document {
            Ok(Value::Object(object)) => unpack(Value::Object(object), namespace, &mut input.objects),
            Ok(other) => {
                let found = other.to_string();
                let found: String = found.chars().take(60).collect();
                input.errors.push(format!(
                    "{name}: {found} is no Kubernetes object; write apiVersion, kind and metadata"
                ));
            }
            Err(error) => input.errors.push(format!("{name}: {error}")),
        }
    }
}

/// Takes a List apart and gives namespaced objects their namespace.
fn unpack(mut object: Value, namespace: &str, objects: &mut Vec<Value>) {
    let kind = object
        .get("kind")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned();
    if kind.ends_with("List")
        && let Some(Value::Array(items)) = object.get_mut("items").map(Value::take)
    {
        for item in items {
            unpack(item, namespace, objects);
        }
        return;
    }
    let cluster_scoped = [
        names::CLUSTER_TRAINING_RUNTIME,
        "PriorityClass",
        "RuntimeClass",
        "Namespace",
    ];
    if !cluster_scoped.contains(&kind.as_str())
        && let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
    {
        let absent = metadata.get("namespace").is_none_or(Value::is_null);
        if absent {
            metadata.insert("namespace".to_owned(), json!(namespace));
        }
    }
    objects.push(object);
}
