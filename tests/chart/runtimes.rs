//! The hook Jobs that install and remove runtimes.

use serde_json::{Value, json};

use crate::files::NEEDS_DATA_CACHE;
use crate::helm::{DELETE, INSTALL, MANAGER, POD, at, container, render};
use crate::{repository, yaml, yaml_files};

const FILES: &str = "ConfigMap/kubeflow-trainer-runtimes-installer";

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn runtimes_are_installed_when_wanted() {
    let wanted = |runtimes: Value| at(&render(&json!({ "runtimes": runtimes })), FILES, "/data").clone();
    let mut all = yaml_files(&repository().join("runtimes"));
    all.remove(NEEDS_DATA_CACHE).expect("the one with the data cache");
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
fn every_runtime_can_be_installed_alone_with_another_image() {
    let values = yaml(&crate::read(crate::chart().join("values.yaml")));
    let own =
        json!({ "enabled": true, "image": { "registry": "example.com", "repository": "mine", "tag": "7" } });
    let mut names = 0;
    for (key, value) in values["runtimes"].as_object().expect("runtimes") {
        let single = |key: &str, own: &Value| json!({ key: own });
        let all = match value.as_object() {
            Some(value) if value.contains_key("enabled") => vec![single(key, &own)],
            // A family, such as torchtune.
            Some(value) if value.values().all(|v| v.get("enabled").is_some()) && !value.is_empty() => {
                value.keys().map(|one| single(key, &single(one, &own))).collect()
            }
            _ => continue,
        };
        for wanted in all {
            let installed = at(&render(&json!({ "runtimes": wanted })), FILES, "/data").clone();
            let installed = installed.as_object().expect("files");
            assert_eq!(installed.len(), 1, "{wanted}");
            let text = installed.values().next().and_then(Value::as_str).expect("a file");
            assert!(text.contains("image: example.com/mine:7"), "{text}");
            names += 1;
        }
    }
    assert_eq!(names, yaml_files(&repository().join("runtimes")).len() - 1);
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
