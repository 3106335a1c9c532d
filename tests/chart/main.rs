//! The Helm chart, the kustomize overlays and what they are copied from.
//!
//! What can be read off the files is tested here always. What has to be rendered needs Helm and kubectl, which
//! `cargo xtask test` builds; it runs the ignored tests with `HELM` and `KUBECTL` set to them.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod files;
mod helm;
mod kustomize;
mod manager;
mod release;
mod runtimes;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

pub(crate) fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn chart() -> PathBuf {
    repository().join("charts/kubeflow-trainer")
}

pub(crate) fn read(path: impl AsRef<Path>) -> String {
    let path = path.as_ref();
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

pub(crate) fn yaml(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The files of a folder that end in `.yaml`, by name.
pub(crate) fn yaml_files(folder: &Path) -> BTreeMap<String, String> {
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
