//! Where things are in the repository.

use std::path::{Path, PathBuf};

/// The root of the repository, of which this crate is the folder `xtask`.
pub(crate) fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}

/// Cargo's target folder.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR").filter(|value| !value.is_empty()) {
        Some(folder) => repository().join(folder),
        None => repository().join("target"),
    }
}

/// What the test cluster is made from: pinned Go modules, Python requirements, manifests.
pub(crate) fn cluster_inputs() -> PathBuf {
    repository().join("tests/cluster")
}
