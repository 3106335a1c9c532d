//! The controller, as a process of its own before an API server in memory.

use std::process::Stdio;

use axum::Router;
use axum::extract::Request;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;

use crate::api_server::ApiServer;

pub(crate) struct Controller {
    process: Child,
    listening: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl Controller {
    /// Starts a controller whose requests `server` answers.
    pub(crate) async fn start(server: &ApiServer) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let server = server.clone();
        let routes = Router::new().fallback(move |request: Request| server.clone().answer(request));
        let listening = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        let folder = tempfile::tempdir().unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, kubeconfig_for(&address)).unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_trainer"))
            .args([
                "controller",
                "--health-bind-address",
                "0",
                "--metrics-bind-address",
                "0",
            ])
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self {
            process,
            listening,
            _folder: folder,
        }
    }

    pub(crate) async fn stop(mut self) {
        self.process.kill().await.unwrap();
        self.listening.abort();
    }
}

fn kubeconfig_for(address: &str) -> String {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "memory", "cluster": {"server": address}}],
        "users": [{"name": "test", "user": {}}],
        "contexts": [{"name": "test", "context": {"cluster": "memory", "user": "test"}}],
        "current-context": "test",
    });
    config.to_string()
}
