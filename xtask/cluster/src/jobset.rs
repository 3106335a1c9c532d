//! JobSet: the manifests of its release, and its manager as a process of the node.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};

use crate::boot::Boot;
use crate::build::go;
use crate::cache::{Cache, Key};
use crate::network::{JOBSET_HEALTH_PORT, JOBSET_METRICS_PORT, JOBSET_WEBHOOK_PORT};
use crate::process::Task;
use crate::state::text;

const MODULE: &str = "sigs.k8s.io/jobset";
const NAMESPACE: &str = "jobset-system";
const ACCOUNT: &str = "jobset-controller-manager";

/// Writes the manifests of the pinned release into the cache, and returns the file: a JSON list.
pub(crate) fn manifests(cache: &Cache, kubectl: &Path) -> Result<PathBuf> {
    let key = Key::new("jobset manifests 1").with_file(&go::family_folder("jobset").join("go.sum"))?;
    let folder = cache.artefact("manifests/jobset", key, |draft| {
        let source = go::module_source("jobset", MODULE)?;
        let yaml = Task::new(kubectl)
            .arg("kustomize")
            .arg(source.join("config/default"))
            .text()?;
        let objects: Vec<Value> =
            serde_saphyr::from_multiple(&yaml).context("JobSet's manifests are not YAML")?;
        Ok(fs::write(
            draft.join("jobset.json"),
            serde_json::to_string(&objects)?,
        )?)
    })?;
    Ok(folder.join("jobset.json"))
}

/// Applies the manifests and starts the manager; [`finish`] adds what the manager must answer first.
///
/// The Deployment is omitted, and the webhooks lead to a port of the node. The manager authenticates with a token of its
/// service account, so its rights are those of the release.
pub(crate) fn start(boot: &mut Boot<'_>) -> Result<()> {
    let objects: Vec<Value> = objects(boot)?
        .into_iter()
        .filter(|object| object["kind"] != "Deployment" && object["webhooks"].is_null())
        .collect();
    boot.kubectl.apply(list(&objects))?;
    let token = [
        "create",
        "token",
        ACCOUNT,
        "--namespace",
        NAMESPACE,
        "--duration",
        "8760h",
    ];
    let kubeconfig = boot
        .pki
        .token_kubeconfig("jobset", boot.kubectl.text(&token)?.trim())?;

    let certificates = boot.state.path("config/jobset-webhook");
    fs::create_dir_all(&certificates)?;
    for (from, to) in [
        ("jobset-webhook.crt", "tls.crt"),
        ("jobset-webhook.key", "tls.key"),
    ] {
        fs::copy(boot.pki.file(from), certificates.join(to))?;
    }
    let config = json!({
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": false},
        "internalCertManagement": {"enable": false},
        "webhook": {"host": "127.0.0.1", "port": JOBSET_WEBHOOK_PORT, "certDir": text(&certificates)},
        "metrics": {"bindAddress": format!("127.0.0.1:{JOBSET_METRICS_PORT}")},
        "health": {"healthProbeBindAddress": format!("127.0.0.1:{JOBSET_HEALTH_PORT}")},
    });
    let config = boot.state.write("config/jobset.json", &config.to_string())?;
    boot.start(
        go::JOBSET,
        &[
            format!("--config={}", text(&config)),
            format!("--kubeconfig={}", text(&kubeconfig)),
        ],
    )
}

/// Registers the webhooks. Without an answer of the manager they would refuse all JobSets.
pub(crate) fn finish(boot: &mut Boot<'_>) -> Result<()> {
    let bundle = BASE64.encode(boot.pki.authority());
    let mut configurations: Vec<Value> = objects(boot)?
        .into_iter()
        .filter(|object| !object["webhooks"].is_null())
        .collect();
    for configuration in &mut configurations {
        for webhook in configuration["webhooks"].as_array_mut().into_iter().flatten() {
            let path = webhook["clientConfig"]["service"]["path"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            webhook["clientConfig"] =
                json!({"url": format!("https://127.0.0.1:{JOBSET_WEBHOOK_PORT}{path}"), "caBundle": bundle});
        }
    }
    boot.kubectl.apply(list(&configurations))
}

fn objects(boot: &Boot<'_>) -> Result<Vec<Value>> {
    let file = boot
        .programs
        .jobset_manifests
        .as_ref()
        .ok_or_else(|| anyhow!("this cluster has no JobSet"))?;
    Ok(serde_json::from_slice(&fs::read(file)?)?)
}

fn list(objects: &[Value]) -> String {
    json!({"apiVersion": "v1", "kind": "List", "items": objects}).to_string()
}
