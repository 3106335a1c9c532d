//! The Helm chart, the kustomize overlays and what they are copied from.
//!
//! What can be read off the files is tested here always. What has to be rendered needs Helm and kubectl, which
//! `cargo xtask test` builds; it runs the ignored tests with `HELM` and `KUBECTL` set to them.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

type Objects = BTreeMap<String, Value>;

const RELEASE: &str = "kubeflow-trainer";
const MANAGER: &str = "Deployment/kubeflow-trainer-controller-manager";
const INSTALL: &str = "Job/kubeflow-trainer-runtimes-install";
const DELETE: &str = "Job/kubeflow-trainer-runtimes-delete";
const FILES: &str = "ConfigMap/kubeflow-trainer-runtimes-installer";
const POD: &str = "/spec/template/spec";

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn chart() -> PathBuf {
    repository().join("charts/kubeflow-trainer")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The files of a folder that end in `.yaml`, by name.
fn yaml_files(folder: &Path) -> BTreeMap<String, String> {
    fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "yaml"))
        .map(|path| {
            let name = path
                .file_name()
                .expect("a file name")
                .to_string_lossy()
                .into_owned();
            (name, read(path))
        })
        .collect()
}

/// All paths below an object that lead to a value that is no object with keys, such as `image.tag`.
fn leaves(value: &Value) -> BTreeSet<String> {
    fn walk(value: &Value, path: &str, found: &mut BTreeSet<String>) {
        match value.as_object() {
            Some(object) if !object.is_empty() => {
                for (key, child) in object {
                    let path = if path.is_empty() {
                        key.clone()
                    } else {
                        format!("{path}.{key}")
                    };
                    walk(child, &path, found);
                }
            }
            _ => _ = found.insert(path.to_owned()),
        }
    }
    let mut found = BTreeSet::new();
    walk(value, "", &mut found);
    found
}

fn templates(folder: &Path) -> String {
    fs::read_dir(folder)
        .expect("the folder of templates")
        .map(|entry| entry.expect("an entry of the folder").path())
        .map(|path| {
            if path.is_dir() {
                templates(&path)
            } else {
                read(path)
            }
        })
        .collect()
}

#[test]
fn the_chart_has_the_version_of_the_program() {
    let chart = yaml(&read(chart().join("Chart.yaml")));
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}

#[test]
fn the_chart_has_the_crds_and_runtimes_of_the_repository() {
    for folder in ["crds", "runtimes"] {
        let source = yaml_files(&repository().join(folder));
        let copy = yaml_files(&chart().join("files").join(folder));
        assert!(!source.is_empty(), "{folder} is empty");
        assert_eq!(
            source.keys().collect::<Vec<_>>(),
            copy.keys().collect::<Vec<_>>(),
            "{folder}"
        );
        for (name, text) in &source {
            assert!(
                text == &copy[name],
                "{folder}/{name} differs: run `cargo xtask generate`"
            );
        }
    }
}

#[test]
fn kustomize_lists_every_crd_and_runtime() {
    for folder in ["crds", "runtimes"] {
        let folder = repository().join(folder);
        let kustomization = yaml(&read(folder.join("Kustomization")));
        let listed: Vec<&str> = kustomization["resources"]
            .as_array()
            .expect("resources")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        let files = yaml_files(&folder);
        assert_eq!(
            listed,
            files.keys().map(String::as_str).collect::<Vec<_>>(),
            "{}",
            folder.display()
        );
    }
}

#[test]
fn every_shipped_runtime_has_what_the_sdk_needs() {
    for (name, text) in yaml_files(&repository().join("runtimes")) {
        let runtime = yaml(&text);
        assert_eq!(runtime["kind"], "ClusterTrainingRuntime", "{name}");
        assert_eq!(
            format!(
                "{}.yaml",
                runtime["metadata"]["name"].as_str().unwrap_or_default()
            ),
            name
        );
        assert!(
            runtime["metadata"]["labels"]["trainer.kubeflow.org/framework"].is_string(),
            "{name}"
        );
        assert!(runtime["spec"]["mlPolicy"].is_object(), "{name}");
        let trainer = runtime["spec"]["template"]["spec"]["replicatedJobs"]
            .as_array()
            .expect("replicatedJobs")
            .iter()
            .find(|job| {
                job["template"]["metadata"]["labels"]["trainer.kubeflow.org/trainjob-ancestor-step"]
                    == "trainer"
            })
            .unwrap_or_else(|| panic!("{name} has no replicated job for the trainer"));
        let node = trainer["template"]["spec"]["template"]["spec"]["containers"]
            .as_array()
            .expect("containers")
            .iter()
            .find(|container| container["name"] == "node")
            .unwrap_or_else(|| panic!("{name} has no container node"));
        assert!(node["image"].is_string(), "{name}");
        for quantity in leaves(&node["resources"]).iter().filter(|path| !path.is_empty()) {
            let value = node.pointer(&format!("/resources/{}", quantity.replacen('.', "/", 1)));
            assert!(
                value.is_some_and(Value::is_string),
                "{name}: {quantity} is no string"
            );
        }
    }
}

/// Goes through the chart's own settings; what Kubernetes defines (resources, affinity and the like) is one setting.
fn settings(schema: &Value, values: &Value, path: &str, found: &mut Vec<String>) {
    assert_eq!(
        schema["additionalProperties"], false,
        "unknown values are let in below {path}"
    );
    for (key, described) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() {
            key.clone()
        } else {
            format!("{path}.{key}")
        };
        if path == "global" {
            continue; // Helm's own
        }
        assert!(described["description"].is_string(), "{path} has no description");
        let value = values
            .get(key)
            .unwrap_or_else(|| panic!("{path} is not in values.yaml"));
        if described["properties"].is_object() {
            settings(described, value, &path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn every_value_is_described_listed_and_used() {
    let values = yaml(&read(chart().join("values.yaml")));
    let schema: Value = serde_json::from_str(&read(chart().join("values.schema.json"))).expect("JSON");
    let templates = templates(&chart().join("templates"));
    let mut found = Vec::new();
    settings(&schema, &values, "", &mut found);
    assert!(found.len() > 20, "{found:?}");
    for path in found {
        // Two places of the templates read a value through a variable that holds a section.
        let last = path.rsplit('.').next().unwrap_or_default();
        let used = templates.contains(&format!(".Values.{path}"))
            || path.starts_with("runtimes.installer.") && templates.contains(&format!("$installer.{last}"))
            || path.starts_with("runtimes.") && last == "enabled";
        assert!(used, "{path} is used nowhere");
    }
}

/// Runs a program with this text as its input; its output, or what it complained about.
fn run(command: &mut Command, input: &str) -> Result<String, String> {
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

fn program(variable: &str) -> Command {
    Command::new(std::env::var_os(variable).unwrap_or_else(|| panic!("{variable} must name the program")))
}

fn try_render(release: &str, values: &Value) -> Result<String, String> {
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

fn objects(text: &str) -> Objects {
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

fn render(values: &Value) -> Objects {
    objects(&try_render(RELEASE, values).unwrap_or_else(|e| panic!("{values}: {e}")))
}

fn at<'a>(objects: &'a Objects, object: &str, pointer: &str) -> &'a Value {
    let found = objects
        .get(object)
        .unwrap_or_else(|| panic!("no {object} in {:?}", objects.keys()));
    found.pointer(pointer).unwrap_or(&Value::Null)
}

fn container<'a>(objects: &'a Objects, object: &str, field: &str) -> &'a Value {
    at(objects, object, &format!("{POD}/containers/0/{field}"))
}

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
        assert_eq!(&kustomize[name], object, "{name}: run `cargo xtask generate`");
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
        "run `cargo xtask generate`"
    );
}

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
        "log": { "level": "trace", "format": "text" },
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
    for wanted in ["--log-level=trace", "--log-format=text"] {
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
