//! The Kubeflow SDK for this machine: an environment of Python that the tests run as its users would.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::python;
use crate::cache::{Cache, Key};
use crate::layout;
use crate::process::Task;

/// What tells one Python from another: its release, and where it is, since the environment refers to that.
const IDENTITY: &str = "import sys; print(sys.version, sys.base_prefix, sys.executable)";
/// The environment is tried out before it is kept.
const SMOKE_TEST: &str = "import kubeflow.trainer";

/// Makes the environment and gives its interpreter.
pub(crate) fn interpreter(cache: &Cache) -> Result<PathBuf> {
    let requirements = layout::cluster_inputs().join("sdk/requirements.txt");
    let identity = python::python()?.args(["-c", IDENTITY]).text()?;
    let key = Key::new("sdk 1")
        .with("python", &identity)
        .with_file(&requirements)?;
    let folder = cache.artefact("sdk", key, |draft| {
        install(&requirements, draft).with_context(|| format!("the SDK for Python {}", identity.trim()))
    })?;
    Ok(folder.join(INTERPRETER))
}

/// Where an environment has it. It finds its libraries from there, so the environment may be moved.
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
