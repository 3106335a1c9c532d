//! What can be read off the files.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{chart, read, repository, yaml, yaml_files};

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

/// Helm keeps a release, its chart and what it rendered, in one Secret of at most 1 MiB. Three megabytes of CRDs filled it
/// to 99 %.
#[test]
fn the_crds_leave_room_in_the_secret_of_a_release() {
    let size: usize = yaml_files(&chart().join("files/crds"))
        .values()
        .map(String::len)
        .sum();
    assert!(size < 2_400_000, "{size} bytes of CRDs: shorten the descriptions");
}

/// The runtime that is not installed with the others.
pub(crate) const NEEDS_DATA_CACHE: &str = "torch-distributed-with-cache.yaml";

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
        let wanted: Vec<&str> = files
            .keys()
            .map(String::as_str)
            .filter(|file| *file != NEEDS_DATA_CACHE)
            .collect();
        assert_eq!(listed, wanted, "{}", folder.display());
    }
}

#[test]
fn every_shipped_runtime_has_what_the_sdk_needs() {
    for (file, text) in yaml_files(&repository().join("runtimes")) {
        let runtime = yaml(&text);
        assert_eq!(runtime["kind"], "ClusterTrainingRuntime", "{file}");
        assert_eq!(
            format!(
                "{}.yaml",
                runtime["metadata"]["name"].as_str().unwrap_or_default()
            ),
            file
        );
        assert!(
            runtime["metadata"]["labels"]["trainer.kubeflow.org/framework"].is_string(),
            "{file}"
        );
        assert!(runtime["spec"]["mlPolicy"].is_object(), "{file}");
        let trainer = runtime["spec"]["template"]["spec"]["replicatedJobs"]
            .as_array()
            .expect("replicatedJobs")
            .iter()
            .find(|job| {
                job["template"]["metadata"]["labels"]["trainer.kubeflow.org/trainjob-ancestor-step"]
                    == "trainer"
            })
            .unwrap_or_else(|| panic!("{file} has no replicated job for the trainer"));
        let node = trainer["template"]["spec"]["template"]["spec"]["containers"]
            .as_array()
            .expect("containers")
            .iter()
            .find(|container| container["name"] == "node")
            .unwrap_or_else(|| panic!("{file} has no container node"));
        assert!(node["image"].is_string(), "{file}");
        for kind in ["limits", "requests"] {
            for (name, quantity) in node["resources"][kind].as_object().into_iter().flatten() {
                assert!(quantity.is_string(), "{file}: {kind} of {name} is no string");
            }
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
        // Where nothing is preset, it is one setting.
        let preset = value.as_object().is_none_or(|value| !value.is_empty());
        if described["properties"].is_object() && preset {
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
            || path.contains("runtimes.") && matches!(last, "enabled" | "image");
        assert!(used, "{path} is used nowhere");
    }
}
