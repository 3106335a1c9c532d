//! Where things are in the repository.

use std::path::{Path, PathBuf};

/// Returns a path of this crate's folder, which holds the pinned Go modules, Python requirements and manifests.
pub(crate) fn input(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns Cargo's target folder. This crate is the workspace's folder `xtask/cluster`.
pub fn target() -> PathBuf {
    let workspace = input("../..");
    let workspace = workspace.canonicalize().unwrap_or(workspace);
    match std::env::var_os("CARGO_TARGET_DIR").filter(|value| !value.is_empty()) {
        Some(folder) => workspace.join(folder),
        None => workspace.join("target"),
    }
}
