//! The hook Jobs that install and remove runtimes.

use serde_json::{Value, json};

use crate::helm::{DELETE, INSTALL, MANAGER, POD, at, container, render};
use crate::{repository, yaml, yaml_files};

const FILES: &str = "ConfigMap/kubeflow-trainer-runtimes-installer";

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn runtimes_are_installed_when_wanted() {
    let wanted = |runtimes: Value| at(&render(&json!({ "runtimes": runtimes })), FILES, "/data").clone();
    let all = yaml_files(&repository().join("runtimes"));
    assert_eq!(wanted(json!({})), json!({}));
    let installed = wanted(json!({ "defaultEnabled": true }));
    assert_eq!(installed.as_object().expect("files").len(), all.len());
    for (name, text) in &all {
        assert_eq!(
            yaml(installed[name].as_str().expect("a file")),
            yaml(text),
            "{name}"
        );
    }
    let one = wanted(json!({ "torchDistributed": { "enabled": true } }));
    assert!(one["torch-distributed.yaml"].is_string());
    let but_one = wanted(json!({ "defaultEnabled": true, "torchDistributed": { "enabled": false } }));
    assert!(
        but_one["torch-distributed.yaml"].is_null(),
        "an explicit false must win"
    );
}

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn a_release_without_runtimes_has_no_hook_that_could_keep_it() {
    let hook = "/metadata/annotations/helm.sh~1hook";
    let none = render(&json!({}));
    assert!(!none.contains_key(DELETE));
    assert_eq!(at(&none, INSTALL, hook), "post-upgrade");
    let some = render(&json!({ "runtimes": { "defaultEnabled": true } }));
    assert_eq!(at(&some, DELETE, hook), "pre-delete");
    assert_eq!(at(&some, INSTALL, hook), "post-install,post-upgrade");
}

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn labels_of_runtimes_do_not_replace_their_own() {
    let objects = render(&json!({ "runtimes": {
        "defaultEnabled": true,
        "commonLabels": { "team": "ml", "trainer.kubeflow.org/framework": "not me" },
    } }));
    let runtime = yaml(
        at(&objects, FILES, "/data/torch-distributed.yaml")
            .as_str()
            .expect("a file"),
    );
    assert_eq!(
        runtime["metadata"]["labels"],
        json!({ "team": "ml", "trainer.kubeflow.org/framework": "torch" })
    );
}

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn every_setting_of_the_installer_arrives() {
    let placement = json!({
        "nodeSelector": { "a": "b" },
        "affinity": { "podAntiAffinity": {} },
        "tolerations": [{ "operator": "Exists" }],
    });
    let mut installer = placement.clone();
    installer["resources"] = json!({ "limits": { "cpu": "1" } });
    let objects = render(&json!({ "runtimes": { "defaultEnabled": true, "installer": installer } }));
    for name in [INSTALL, DELETE] {
        assert_eq!(container(&objects, name, "resources/limits/cpu"), "1", "{name}");
        assert_eq!(
            container(&objects, name, "securityContext"),
            container(&objects, MANAGER, "securityContext"),
            "{name}"
        );
        for (key, value) in placement.as_object().into_iter().flatten() {
            assert_eq!(
                at(&objects, name, &format!("{POD}/{key}")),
                value,
                "{name}: {key}"
            );
        }
    }
}
