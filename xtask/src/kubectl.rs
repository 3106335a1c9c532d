//! `kubectl` against one cluster.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process::Task;

/// A `kubectl` program and the cluster that it talks to.
#[derive(Clone, Debug)]
pub(crate) struct Kubectl {
    program: PathBuf,
    /// A value of `$KUBECONFIG`: usually one path.
    kubeconfig: OsString,
}

impl Kubectl {
    pub(crate) fn new(program: &Path, kubeconfig: impl Into<OsString>) -> Self {
        Self {
            program: program.to_owned(),
            kubeconfig: kubeconfig.into(),
        }
    }

    pub(crate) fn kubeconfig(&self) -> &OsStr {
        &self.kubeconfig
    }

    /// A call that is not run yet.
    pub(crate) fn task<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Task {
        Task::new(&self.program)
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
    }

    /// What a call prints; it must succeed.
    pub(crate) fn text(&self, arguments: &[&str]) -> Result<String> {
        self.task(arguments).text()
    }

    /// Whether a call succeeds.
    pub(crate) fn succeeds(&self, arguments: &[&str]) -> Result<bool> {
        Ok(self.task(arguments).finish()?.status.success())
    }

    /// The object or list that a `get` finds, or nothing where there is no such object or no such kind.
    pub(crate) fn find(&self, arguments: &[&str]) -> Result<Option<Value>> {
        let found = self
            .task(arguments)
            .args(["-o", "json", "--ignore-not-found"])
            .finish()?;
        let complaint = found.complaint();
        if !found.status.success() {
            if complaint.contains("the server doesn't have a resource type") {
                return Ok(None);
            }
            anyhow::bail!("kubectl {}: {complaint}", arguments.join(" "));
        }
        if found.stdout.is_empty() {
            return Ok(None);
        }
        serde_json::from_slice(&found.stdout)
            .context("kubectl printed something else than JSON")
            .map(Some)
    }

    /// Applies manifests server-side, as the field manager `xtask`.
    pub(crate) fn apply(&self, manifests: impl Into<Vec<u8>>) -> Result<()> {
        self.task(["apply", "--server-side", "--field-manager=xtask", "-f", "-"])
            .input(manifests)
            .text()?;
        Ok(())
    }
}
