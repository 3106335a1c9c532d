//! Which modules of `src/` may import which.
//!
//! What they may not call (clock, files, environment) is in `clippy.toml`; that only the controller has a client and an
//! async runtime is checked by `cargo check --no-default-features`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use module_imports::{Layers, Peers, Sources, circles};

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
const PEERS: Peers<'_> = Peers(&["plan::frameworks", "plan::gang_schedulers"]);

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

/// A circle means that none of its modules can be understood, tested or moved alone. `cargo xtask modules` prints the
/// imports that make one.
#[test]
fn no_modules_import_each_other_in_a_circle() {
    let circles = circles(&sources());
    let shown: String = circles.iter().map(ToString::to_string).collect();
    assert!(circles.is_empty(), "\n{shown}");
}
