//! Reads files: every document of every file, with lists unpacked, and errors for the rest.
//!
//! Knows what any Kubernetes object has. Others validate what the kinds hold.

use std::io::Read;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::yaml::{self, Document};
use crate::api::names;
use crate::k8s::json as k8s_json;
use crate::k8s::suggest;

/// Kinds of our group.
const OUR_KINDS: [&str; 3] = [
    names::TRAIN_JOB,
    names::TRAINING_RUNTIME,
    names::CLUSTER_TRAINING_RUNTIME,
];

/// Kinds without a namespace, of those that we read.
const CLUSTER_WIDE: [&str; 4] = [
    names::CLUSTER_TRAINING_RUNTIME,
    "PriorityClass",
    "RuntimeClass",
    "Namespace",
];

/// The content of the files.
#[derive(Default)]
pub(super) struct Input {
    /// The objects, in order.
    pub(super) objects: Vec<Value>,
    /// What could not be parsed, with file and line.
    pub(super) errors: Vec<String>,
}

/// Reads files; `-` is standard input. Objects of a namespaced kind without a namespace get `namespace`.
pub(super) fn read(files: &[PathBuf], namespace: &str) -> Input {
    let mut input = Input::default();
    for file in files {
        let name = if file == Path::new("-") {
            "standard input".to_owned()
        } else {
            file.display().to_string()
        };
        match text(file) {
            Ok(text) => {
                for document in yaml::read(&text) {
                    read_document(&name, document, namespace, &mut input);
                }
            }
            Err(error) => input.errors.push(format!("{name}: {error}")),
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

fn read_document(file: &str, document: Document, namespace: &str, input: &mut Input) {
    match document.content {
        Ok(object) => {
            for object in unpack(object) {
                match check(&object) {
                    Ok(()) => input.objects.push(with_namespace(object, namespace)),
                    Err(what) => input.errors.push(format!("{file}:{}: {what}", document.line)),
                }
            }
        }
        Err(error) => input
            .errors
            .push(format!("{file}:{}:{}: {error}", error.line, error.column)),
    }
}

/// Returns the items of a List, and of lists within it.
fn unpack(mut object: Value) -> Vec<Value> {
    let is_list = k8s_json::text(&object, &["kind"]).is_some_and(|kind| kind.ends_with("List"));
    match object.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if is_list => items.into_iter().flat_map(unpack).collect(),
        Some(items) => {
            object["items"] = items;
            vec![object]
        }
        None => vec![object],
    }
}

/// Returns why a value is not a Kubernetes object, or, in our group, not one of our kinds.
fn check(object: &Value) -> Result<(), String> {
    if !object.is_object() {
        let found: String = object.to_string().chars().take(60).collect();
        return Err(format!(
            "{found} is not a Kubernetes object; write apiVersion, kind and metadata"
        ));
    }
    let text = |key| k8s_json::text(object, &[key]);
    let (Some(version), Some(kind)) = (text("apiVersion"), text("kind")) else {
        let missing = if text("kind").is_none() {
            "kind"
        } else {
            "apiVersion"
        };
        return Err(format!(
            "the object has no {missing}; write apiVersion, kind and metadata"
        ));
    };
    let ours = version.split('/').next() == Some(names::GROUP);
    if ours && !OUR_KINDS.contains(&kind) {
        let hint = suggest::hint(kind, OUR_KINDS.into_iter());
        return Err(format!("{} has no kind {kind:?}{hint}", names::GROUP));
    }
    Ok(())
}

fn with_namespace(mut object: Value, namespace: &str) -> Value {
    let cluster_wide = k8s_json::text(&object, &["kind"]).is_some_and(|kind| CLUSTER_WIDE.contains(&kind));
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
        && !cluster_wide
        && metadata.get("namespace").is_none_or(Value::is_null)
    {
        metadata.insert("namespace".to_owned(), json!(namespace));
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(text: &str) -> Input {
        let mut input = Input::default();
        for document in yaml::read(text) {
            read_document("f.yaml", document, "ns", &mut input);
        }
        input
    }

    #[test]
    fn lists_are_unpacked_and_namespaces_filled_in() {
        let input = input(
            "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: A, metadata: {}}, {apiVersion: v1, kind: BList, \
             items: [{apiVersion: v1, kind: RuntimeClass, metadata: {}}, {apiVersion: v1, kind: C, metadata: {namespace: x}}]}]}",
        );
        let namespaces: Vec<_> = input
            .objects
            .iter()
            .map(|o| k8s_json::text(o, &["metadata", "namespace"]))
            .collect();
        assert_eq!(namespaces, [Some("ns"), None, Some("x")]);
        assert!(input.errors.is_empty());
    }

    #[test]
    fn what_is_not_an_object_is_an_error_with_its_line() {
        let input = input(
            "# a comment\n\nfoo: bar\n---\n- x\n---\n{apiVersion: trainer.kubeflow.org/v1alpha1, kind: Trainjob}\n",
        );
        assert_eq!(
            input.errors,
            [
                "f.yaml:3: the object has no kind; write apiVersion, kind and metadata",
                "f.yaml:5: [\"x\"] is not a Kubernetes object; write apiVersion, kind and metadata",
                "f.yaml:7: trainer.kubeflow.org has no kind \"Trainjob\"; did you mean \"TrainJob\"?",
            ]
        );
    }
}
