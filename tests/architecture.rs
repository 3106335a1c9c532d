//! Which modules of `src/` may import which.
//!
//! What they may not call (clock, files, environment) is in `clippy.toml`; that only the controller has a client and an
//! async runtime is checked by `cargo check --no-default-features`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use module_imports::{Layers, Peers, Sources};

/// Each top-level module, and those that it may import.
const LAYERS: Layers<'_> = Layers(&[
    ("api", &[]),
    ("k8s", &[]),
    ("plan", &["api", "k8s"]),
    ("status", &["api"]),
    ("admission", &["api", "k8s", "plan"]),
    ("schema", &["api", "k8s"]),
    ("catalog", &[]),
    ("controller", &["api", "k8s", "plan", "status"]),
    (
        "cli",
        &[
            "admission",
            "api",
            "catalog",
            "controller",
            "k8s",
            "plan",
            "schema",
        ],
    ),
    ("main", &["cli"]),
]);

/// One file is one framework or one gang scheduler.
const PEERS: Peers<'_> = Peers {
    parents: &["plan::frameworks", "plan::gang_schedulers"],
    shared: &[],
};

fn sources() -> Sources {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    Sources::read(&folder, env!("CARGO_PKG_NAME")).unwrap()
}

#[test]
fn modules_import_only_allowed_modules() {
    let problems = LAYERS.problems(&sources());
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn frameworks_and_gang_schedulers_do_not_import_each_other() {
    let problems = PEERS.problems(&sources());
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}
