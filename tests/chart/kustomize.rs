//! The overlays give what the chart gives.

use std::process::Command;

use serde_json::{Value, json};

use crate::helm::{Objects, objects, program, render, run};
use crate::{read, repository};

/// Takes away, at any depth, the labels and annotations that only Helm sets.
fn without_helm(value: &mut Value) {
    const HELMS: [&str; 3] = [
        "helm.sh/chart",
        "app.kubernetes.io/managed-by",
        "helm.sh/resource-policy",
    ];
    match value {
        Value::Object(object) => {
            object.retain(|key, _| !HELMS.contains(&key.as_str()));
            object.values_mut().for_each(without_helm);
        }
        Value::Array(items) => items.iter_mut().for_each(without_helm),
        _ => {}
    }
}

/// The objects of an installation without what differs on purpose: Helm's marks, hooks, the namespace, and the labels of
/// the CRDs, which kustomize takes as they are.
fn comparable(mut objects: Objects) -> Objects {
    objects.retain(|name, object| {
        !name.starts_with("Namespace/") && object.pointer("/metadata/annotations/helm.sh~1hook").is_none()
    });
    for (name, object) in &mut objects {
        without_helm(object);
        if name.starts_with("CustomResourceDefinition/") {
            object["metadata"] = json!({ "name": object["metadata"]["name"] });
        }
    }
    objects
}

#[test]
#[ignore = "needs helm and kubectl; `cargo xtask test` runs it"]
fn kustomize_gives_the_objects_of_the_chart() {
    let mut kubectl = program("KUBECTL");
    kubectl.args(["kustomize", "manifests/overlays/manager"]);
    let kustomize = comparable(objects(&run(&mut kubectl, "").expect("kustomize")));
    let helm = comparable(render(&json!({})));
    assert_eq!(
        kustomize.keys().collect::<Vec<_>>(),
        helm.keys().collect::<Vec<_>>()
    );
    for (name, object) in &helm {
        assert_eq!(&kustomize[name], object, "{name}: run manifests/generate.sh");
    }
}

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn kustomize_is_generated() {
    let helm = program("HELM");
    let mut script = Command::new("sh");
    script
        .arg("manifests/generate.sh")
        .env("HELM", helm.get_program());
    let generated = run(&mut script, "").expect("manifests/generate.sh");
    assert!(
        generated == read(repository().join("manifests/base/trainer.yaml")),
        "run manifests/generate.sh"
    );
}
