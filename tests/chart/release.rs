//! CRDs, names, labels, roles and refusals: what concerns the release as a whole.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::helm::{DELETE, INSTALL, MANAGER, RELEASE, at, objects, program, render, run, try_render};

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn crds_stay_when_the_release_goes_and_can_be_left_out() {
    let is_crd = |name: &&String| name.starts_with("CustomResourceDefinition/");
    let with = render(&json!({}));
    assert_eq!(with.keys().filter(is_crd).count(), 3);
    for name in with.keys().filter(is_crd) {
        assert_eq!(
            at(&with, name, "/metadata/annotations/helm.sh~1resource-policy"),
            "keep",
            "{name}"
        );
    }
    let without = render(&json!({ "crds": { "enabled": false } }));
    assert_eq!(without.keys().filter(is_crd).count(), 0);
}

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn clients_find_the_names_that_they_look_for() {
    let objects = render(&json!({}));
    for name in [
        MANAGER,
        "Service/kubeflow-trainer-controller-manager",
        "ConfigMap/kubeflow-trainer-public",
    ] {
        assert!(objects.contains_key(name), "{name}");
    }
    let labels = at(&objects, MANAGER, "/spec/template/metadata/labels");
    assert_eq!(labels["app.kubernetes.io/name"], "trainer");
    assert_eq!(labels["app.kubernetes.io/component"], "manager");
    assert_eq!(labels["app.kubernetes.io/part-of"], "kubeflow");
    assert_eq!(labels["sidecar.istio.io/inject"], "false");
    let version = at(
        &objects,
        "ConfigMap/kubeflow-trainer-public",
        "/data/kubeflow_trainer_version",
    );
    assert_eq!(version, &format!("v{}", env!("CARGO_PKG_VERSION")));
}

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn names_follow_release_and_overrides_and_fit() {
    let deployment = |release: &str, values: Value| {
        objects(&try_render(release, &values).expect("rendered"))
            .into_keys()
            .find_map(|name| name.strip_prefix("Deployment/").map(str::to_owned))
            .expect("a Deployment")
    };
    assert_eq!(
        deployment("foo", json!({})),
        "foo-kubeflow-trainer-controller-manager"
    );
    assert_eq!(
        deployment("foo", json!({ "nameOverride": "x" })),
        "foo-x-controller-manager"
    );
    assert_eq!(
        deployment("foo", json!({ "fullnameOverride": "y" })),
        "y-controller-manager"
    );
    assert_eq!(
        deployment("foo", json!({ "fullnameOverride": "y".repeat(60) })).len(),
        63
    );
}

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn common_labels_are_on_everything_but_selectors() {
    let objects = render(&json!({
        "commonLabels": { "team": "ml", "app.kubernetes.io/name": "not me" },
        "runtimes": { "defaultEnabled": true },
    }));
    for (name, object) in &objects {
        assert_eq!(object["metadata"]["labels"]["team"], "ml", "{name}");
        assert_eq!(
            object["metadata"]["labels"]["app.kubernetes.io/name"], "trainer",
            "{name}"
        );
    }
    for name in [MANAGER, INSTALL, DELETE] {
        assert_eq!(
            at(&objects, name, "/spec/template/metadata/labels/team"),
            "ml",
            "{name}"
        );
    }
    assert!(at(&objects, MANAGER, "/spec/selector/matchLabels/team").is_null());
}

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn user_roles_can_be_left_out() {
    let roles = |values: Value| {
        render(&values)
            .into_keys()
            .filter(|name| name.starts_with("ClusterRole/"))
            .collect::<BTreeSet<_>>()
    };
    let made = roles(json!({}));
    for role in ["admin", "edit", "view", "view-cluster-runtimes"] {
        assert!(
            made.contains(&format!("ClusterRole/kubeflow-trainer-{role}")),
            "{role}"
        );
    }
    assert_eq!(
        made.len() - roles(json!({ "userRoles": { "enabled": false } })).len(),
        4
    );
}

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn values_that_would_do_nothing_are_refused() {
    for values in [
        json!({ "nope": 1 }),
        json!({ "jobset": { "install": true } }),
        json!({ "manager": { "nope": 1 } }),
        json!({ "manager": { "replicas": 2 } }),
        json!({ "image": { "pullPolicy": "Sometimes" } }),
        json!({ "runtimes": { "unknown": { "enabled": true } } }),
    ] {
        let refusal = try_render(RELEASE, &values);
        assert!(
            refusal.as_ref().is_err_and(|e| e.contains("schema")),
            "{values}: {refusal:?}"
        );
    }
    assert!(
        try_render(RELEASE, &json!({ "global": { "any": 1 } })).is_ok(),
        "Helm's own key"
    );
}

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn helm_finds_nothing_to_complain_about() {
    let mut helm = program("HELM");
    helm.args(["lint", "--strict", "charts/kubeflow-trainer"]);
    run(&mut helm, "").expect("helm lint");
}
