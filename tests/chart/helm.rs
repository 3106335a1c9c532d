//! Rendering with the real Helm, and looking things up in the result.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::repository;

pub(crate) type Objects = BTreeMap<String, Value>;

pub(crate) const RELEASE: &str = "kubeflow-trainer";
pub(crate) const MANAGER: &str = "Deployment/kubeflow-trainer-controller-manager";
pub(crate) const INSTALL: &str = "Job/kubeflow-trainer-runtimes-install";
pub(crate) const DELETE: &str = "Job/kubeflow-trainer-runtimes-delete";
pub(crate) const POD: &str = "/spec/template/spec";

/// Runs a program with this text as its input; its output, or what it complained about.
pub(crate) fn run(command: &mut Command, input: &str) -> Result<String, String> {
    let mut child = command
        .current_dir(repository())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{command:?}: {e}"));
    child
        .stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_bytes())
        .expect("written");
    let output = child.wait_with_output().expect("an end");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        Err(text(output.stderr))
    }
}

pub(crate) fn program(variable: &str) -> Command {
    Command::new(std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} must name the program")))
}

pub(crate) fn try_render(release: &str, values: &Value) -> Result<String, String> {
    let mut helm = program("HELM");
    helm.args([
        "template",
        release,
        "charts/kubeflow-trainer",
        "--namespace",
        "kubeflow-system",
        "--values",
        "-",
    ]);
    run(&mut helm, &values.to_string())
}

pub(crate) fn objects(text: &str) -> Objects {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).unwrap_or_else(|e| panic!("{e}"));
    documents
        .into_iter()
        .filter(|object| !object.is_null())
        .map(|object| {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            (
                format!("{}/{}", text(&object["kind"]), text(&object["metadata"]["name"])),
                object,
            )
        })
        .collect()
}

pub(crate) fn render(values: &Value) -> Objects {
    objects(&try_render(RELEASE, values).unwrap_or_else(|e| panic!("{values}: {e}")))
}

pub(crate) fn at<'a>(objects: &'a Objects, object: &str, pointer: &str) -> &'a Value {
    let found = objects
        .get(object)
        .unwrap_or_else(|| panic!("no {object} in {:?}", objects.keys()));
    found.pointer(pointer).unwrap_or(&Value::Null)
}

pub(crate) fn container<'a>(objects: &'a Objects, object: &str, field: &str) -> &'a Value {
    at(objects, object, &format!("{POD}/containers/0/{field}"))
}
