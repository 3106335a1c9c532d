//! What a cluster stores while it is up, all in `target/cluster/NAME`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::layout;
use crate::process_id::ProcessId;

/// The folder of one cluster.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) name: String,
    pub(crate) folder: PathBuf,
}

/// What is needed to find a cluster again, and to remove it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Process 1 of the cluster's namespaces, as the machine sees it.
    pub(crate) init: Option<ProcessId>,
    /// The process that forwards connections to the API server.
    pub(crate) forward: Option<ProcessId>,
    /// The port of 127.0.0.1 that it listens on.
    pub(crate) port: Option<u16>,
    /// Whether there is a node.
    pub(crate) node: bool,
    /// References of the images that the cluster started with.
    pub(crate) images: Vec<String>,
    /// Whether all of it came up.
    pub(crate) ready: bool,
}

impl State {
    /// Returns the state of a name; the cluster need not exist.
    pub(crate) fn of(name: &str) -> Result<Self> {
        let valid = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
        if name.is_empty() || name.len() > 20 || !name.chars().all(valid) {
            bail!("cluster name {name:?} is invalid: use up to 20 lower-case letters, digits and '-'");
        }
        Ok(Self {
            name: name.to_owned(),
            folder: all().join(name),
        })
    }

    /// Lists the clusters that have a folder, up or not.
    pub(crate) fn list() -> Result<Vec<Self>> {
        let Ok(entries) = fs::read_dir(all()) else {
            return Ok(Vec::new());
        };
        let mut states = Vec::new();
        for entry in entries {
            let entry = entry?;
            if entry.path().is_dir() {
                states.extend(Self::of(&entry.file_name().to_string_lossy()).ok());
            }
        }
        states.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(states)
    }

    /// Returns a path in the folder.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.join(below)
    }

    /// Returns the folder of all logs.
    pub(crate) fn logs(&self) -> PathBuf {
        self.path("logs")
    }

    /// Returns the log of a component.
    pub(crate) fn log(&self, component: &str) -> PathBuf {
        self.logs().join(format!("{component}.log"))
    }

    /// Returns the API server's audit log.
    pub(crate) fn audit_log(&self) -> PathBuf {
        self.path("audit.log")
    }

    /// Returns the administrator's kubeconfig, for programs on this machine.
    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.path("kubeconfig")
    }

    /// Returns the name of the control group of all pods. It differs for each folder of this machine.
    pub(crate) fn cgroup(&self) -> String {
        let hash = crate::cache::Key::new("cgroup")
            .with("state", self.folder.to_string_lossy().as_bytes())
            .short();
        format!("trainer-{}-{hash}", self.name)
    }

    /// Writes a file in the folder, and returns its path.
    pub(crate) fn write(&self, below: &str, text: &str) -> Result<PathBuf> {
        let path = self.path(below);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        Ok(path)
    }

    /// Writes the record.
    pub(crate) fn save(&self, record: &Record) -> Result<()> {
        self.write("cluster.json", &serde_json::to_string_pretty(record)?)?;
        Ok(())
    }

    /// Reads the record; `None` if no cluster was started.
    pub(crate) fn load(&self) -> Result<Option<Record>> {
        let path = self.path("cluster.json");
        if !path.exists() {
            return Ok(None);
        }
        let text = fs::read_to_string(&path)?;
        serde_json::from_str(&text)
            .with_context(|| format!("{} is damaged", path.display()))
            .map(Some)
    }
}

fn all() -> PathBuf {
    layout::target().join("cluster")
}

/// Returns a path as text, for a settings file. State and cache are in folders that a person chose, so they are text.
pub(crate) fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::State;

    #[test]
    fn a_name_must_be_valid_in_paths_and_control_groups() {
        for name in ["dev", "a-1", "twenty-letters-long-"] {
            assert!(State::of(name).is_ok(), "{name}");
        }
        for name in ["", "..", "a/b", "Dev", "twenty-one-letters-lon", "a b"] {
            assert!(State::of(name).is_err(), "{name}");
        }
    }
}
