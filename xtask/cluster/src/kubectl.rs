//! `kubectl` on one cluster.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process::Task;

/// A `kubectl` program and its cluster.
#[derive(Clone, Debug)]
pub struct Kubectl {
    program: PathBuf,
    /// A value of `$KUBECONFIG`: usually one path.
    kubeconfig: OsString,
}

impl Kubectl {
    /// Returns `kubectl` for the cluster of a kubeconfig.
    pub fn new(program: &Path, kubeconfig: impl Into<OsString>) -> Self {
        Self {
            program: program.to_owned(),
            kubeconfig: kubeconfig.into(),
        }
    }

    /// Returns the value of `$KUBECONFIG`.
    pub fn kubeconfig(&self) -> &OsStr {
        &self.kubeconfig
    }

    /// Returns a call that has not run yet.
    pub fn task<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Task {
        Task::new(&self.program)
            .args(arguments)
            .env("KUBECONFIG", &self.kubeconfig)
    }

    /// Runs a call, which must succeed, and returns its output.
    pub fn text(&self, arguments: &[&str]) -> Result<String> {
        self.task(arguments).text()
    }

    /// Runs a call, and reports whether it succeeds.
    pub fn succeeds(&self, arguments: &[&str]) -> Result<bool> {
        Ok(self.task(arguments).finish()?.status.success())
    }

    /// Runs a `get`, and returns the object or list. `None` if there is no such object or no such kind.
    pub fn find(&self, arguments: &[&str]) -> Result<Option<Value>> {
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
            .context("kubectl did not print JSON")
            .map(Some)
    }

    /// Applies manifests on the server side, as the field manager `xtask`.
    pub fn apply(&self, manifests: impl Into<Vec<u8>>) -> Result<()> {
        self.task(["apply", "--server-side", "--field-manager=xtask", "-f", "-"])
            .input(manifests)
            .text()?;
        Ok(())
    }
}
