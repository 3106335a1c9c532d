//! The Kubeflow SDK: a Python environment on this machine, for the tests that use the SDK as its users do.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use local_cluster::build::python;
use local_cluster::cache::{Cache, Key};
use local_cluster::process::Task;

use crate::layout;

/// Prints what distinguishes one Python from another: its release and its path, which the environment refers to.
const IDENTITY: &str = "import sys; print(sys.version, sys.base_prefix, sys.executable)";
/// Tests the environment before it is cached.
const SMOKE_TEST: &str = "import kubeflow.trainer";

/// Returns the environment's interpreter, and makes the environment if necessary.
pub(crate) fn interpreter(cache: &Cache) -> Result<PathBuf> {
    let requirements = layout::repository().join("tests/cluster/sdk/requirements.txt");
    let identity = python::python()?.args(["-c", IDENTITY]).text()?;
    let key = Key::new("sdk 1")
        .with("python", &identity)
        .with_file(&requirements)?;
    let folder = cache.artefact("sdk", key, |draft| {
        install(&requirements, draft).with_context(|| format!("the SDK for Python {}", identity.trim()))
    })?;
    Ok(folder.join(INTERPRETER))
}

/// The interpreter in an environment. It finds its libraries from its own path, so the environment may be moved.
const INTERPRETER: &str = "bin/python";

fn install(requirements: &Path, into: &Path) -> Result<()> {
    let log = into.join("pip.log");
    let interpreter = into.join(INTERPRETER);
    python::python()?
        .args(["-m", "venv", "--without-pip"])
        .arg(into)
        .logged(&log)?;
    python::pip()?
        .arg("--python")
        .arg(&interpreter)
        .args([
            "install",
            "--quiet",
            "--require-hashes",
            "--no-deps",
            "--only-binary=:all:",
        ])
        .arg("--requirement")
        .arg(requirements)
        .logged(&log)?;
    Task::new(&interpreter).args(["-c", SMOKE_TEST]).logged(&log)
}
