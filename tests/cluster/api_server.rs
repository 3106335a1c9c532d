//! The cluster's API server as a process, to end it and start it again as it was.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::{env, run};

/// A kube-apiserver that runs, and how it was started.
pub(crate) struct ApiServer {
    process: PathBuf,
    command: Vec<String>,
}

impl ApiServer {
    /// Finds the one that writes the audit log of these tests.
    pub(crate) fn find() -> Self {
        let audit_log = env("TRAINER_TEST_AUDIT_LOG");
        std::fs::read_dir("/proc")
            .unwrap()
            .find_map(|entry| {
                let process = entry.ok()?.path();
                let command = std::fs::read(process.join("cmdline")).ok()?;
                let command: Vec<String> = command
                    .split(|b| *b == 0)
                    .map(|a| String::from_utf8_lossy(a).into_owned())
                    .collect();
                let command = command.split_last()?.1.to_vec();
                let server = command.first()?.ends_with("kube-apiserver");
                (server && command.iter().any(|a| a.ends_with(&audit_log)))
                    .then_some(Self { process, command })
            })
            .unwrap()
    }

    /// Ends it, as an upgrade would.
    pub(crate) fn stop(&self) {
        run(Command::new("kill").arg(self.process.file_name().unwrap()));
        while self.process.join("exe").exists() {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    }

    /// Starts it again in the namespaces of the cluster, which take it with them when they go.
    pub(crate) fn start(&self) {
        let audit_log = PathBuf::from(env("TRAINER_TEST_AUDIT_LOG"));
        let state = std::fs::read(audit_log.parent().unwrap_or(Path::new("/")).join("cluster.json")).unwrap();
        let state: Value = serde_json::from_slice(&state).unwrap();
        let started = Command::new("setsid")
            .args([
                "--fork",
                "nsenter",
                "--net",
                "--mount",
                "--pid",
                "--target",
                &state["init"]["id"].to_string(),
                "--",
            ])
            .args(&self.command)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert!(started.success());
    }
}
