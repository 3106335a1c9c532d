//! The controller's Deployment.

use serde_json::{Value, json};

use crate::helm::{DELETE, INSTALL, MANAGER, POD, at, container, render};

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn the_image_is_put_together_from_its_parts() {
    let image = |values: Value| container(&render(&values), MANAGER, "image").clone();
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        image(json!({})),
        format!("ghcr.io/kubeflow/trainer/trainer-controller-manager:v{version}")
    );
    let own = json!({ "image": { "registry": "", "repository": "trainer", "tag": "dev" } });
    assert_eq!(image(own), "trainer:dev");
    let digest = json!({ "image": { "registry": "r.example", "repository": "t", "tag": "sha256:abc" } });
    assert_eq!(image(digest), "r.example/t@sha256:abc");
    let pull = render(&json!({
        "image": { "pullPolicy": "Never", "pullSecrets": [{ "name": "s" }] },
        "runtimes": { "defaultEnabled": true },
    }));
    for name in [MANAGER, INSTALL, DELETE] {
        assert_eq!(container(&pull, name, "imagePullPolicy"), "Never", "{name}");
        assert_eq!(
            at(&pull, name, &format!("{POD}/imagePullSecrets")),
            &json!([{ "name": "s" }]),
            "{name}"
        );
    }
}

#[test]
#[ignore = "needs helm; `cargo xtask test` runs it"]
fn every_setting_of_the_manager_arrives() {
    let pod = json!({
        "nodeSelector": { "a": "b" },
        "affinity": { "podAntiAffinity": {} },
        "tolerations": [{ "operator": "Exists" }],
        "volumes": [{ "name": "v", "emptyDir": {} }],
    });
    let own = json!({
        "env": [{ "name": "EMPTY", "value": "" }],
        "envFrom": [{ "configMapRef": { "name": "c" } }],
        "volumeMounts": [{ "name": "v", "mountPath": "/v" }],
    });
    let mut manager = json!({
        "replicas": 0,
        "labels": { "mine": "yes", "app.kubernetes.io/component": "not me" },
        "podAnnotations": { "note": "1" },
        "concurrency": 7,
        "clientConnection": { "qps": 0, "burst": 3 },
        "acceleratorResources": ["example.com/npu", "example.com/tile"],
        "log": { "level": "info,trainer=trace", "format": "text" },
        "resources": { "limits": { "memory": "1Gi" } },
        "securityContext": { "runAsUser": 0, "runAsNonRoot": false },
    });
    for (key, value) in [&pod, &own].into_iter().filter_map(Value::as_object).flatten() {
        manager[key] = value.clone();
    }
    let objects = render(&json!({ "manager": manager }));
    assert_eq!(at(&objects, MANAGER, "/spec/replicas"), 0);
    for labels in ["/metadata/labels", "/spec/template/metadata/labels"] {
        assert_eq!(at(&objects, MANAGER, labels)["mine"], "yes");
        assert_eq!(
            at(&objects, MANAGER, labels)["app.kubernetes.io/component"],
            "manager"
        );
    }
    assert_eq!(
        at(&objects, MANAGER, "/spec/template/metadata/annotations/note"),
        "1"
    );
    let args = container(&objects, MANAGER, "args").as_array().expect("args");
    for wanted in [
        "--concurrency=7",
        "--kube-api-qps=0",
        "--kube-api-burst=3",
        "--accelerator-resource=example.com/npu",
        "--accelerator-resource=example.com/tile",
        "--log-level=info,trainer=trace",
        "--log-format=text",
    ] {
        assert!(args.iter().any(|arg| arg == wanted), "{wanted} in {args:?}");
    }
    assert_eq!(container(&objects, MANAGER, "resources/limits/memory"), "1Gi");
    assert_eq!(container(&objects, MANAGER, "securityContext/runAsUser"), 0);
    assert_eq!(
        container(&objects, MANAGER, "securityContext/runAsNonRoot"),
        false
    );
    for (key, value) in pod.as_object().into_iter().flatten() {
        assert_eq!(at(&objects, MANAGER, &format!("{POD}/{key}")), value, "{key}");
    }
    for (key, value) in own.as_object().into_iter().flatten() {
        assert_eq!(container(&objects, MANAGER, key), value, "{key}");
    }
}
