//! What is mounted into the pods: the SSH keys into all of them, the hostfile into the launcher.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use super::policy::{LAUNCHER, implementation, launcher_is_node};
use crate::api::names::NODE;
use crate::api::runtime::MpiPolicy;
use crate::k8s::problem::Problem;
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::injection::Mount;
use crate::plan::resolve::RUNTIME_REF;
use crate::plan::secrets::{self, NewSecret, Recipe};
use crate::plan::{files, ownership};

/// Volume of the SSH keys.
const KEYS_VOLUME: &str = "mpi-ssh-auth";
/// Suffix of the Secret with the SSH keys.
const KEYS_SUFFIX: &str = "-mpi-ssh-auth";
/// Volume of the hostfile.
const HOSTFILE_VOLUME: &str = "mpi-hostfile";
/// Suffix of the ConfigMap with the hostfile.
const HOSTFILE_SUFFIX: &str = "-mpi-hostfile";
/// Key, and name of the file.
const HOSTFILE: &str = "hostfile";
/// Folder of the hostfile.
const CONFIG_PATH: &str = "/etc/mpi";

/// Plans the Secret with the SSH keys.
pub(super) fn keys(draft: &Draft<'_>) -> NewSecret {
    let name = format!("{}{KEYS_SUFFIX}", draft.job_name());
    secrets::of(draft.job, name, Recipe::SshKeyPair)
}

/// Makes the volume of the SSH keys.
pub(super) fn keys_volume(draft: &Draft<'_>) -> Value {
    let item = |key: &str, path: &str, mode: i32| json!({"key": key, "path": path, "mode": mode});
    json!({
        "name": KEYS_VOLUME,
        "secret": {
            "secretName": format!("{}{KEYS_SUFFIX}", draft.job_name()),
            "defaultMode": 0o400,
            "items": [
                item(Recipe::SSH_PRIVATE_KEY, "id_rsa", 0o640),
                item(Recipe::SSH_PUBLIC_KEY, "id_rsa.pub", 0o644),
                item(Recipe::SSH_PUBLIC_KEY, "authorized_keys", 0o644),
            ],
        },
    })
}

/// Mounts the SSH keys at a path.
pub(super) fn keys_mount(path: &str) -> Mount {
    Mount::volume(KEYS_VOLUME, path)
}

/// Makes the ConfigMap with the hostfile, or refuses more hosts than it can list.
pub(super) fn hostfile(policy: &MpiPolicy, draft: &Draft<'_>, slots: i64) -> Result<ConfigMap, Problem> {
    let implementation = implementation(policy);
    let is_host =
        |rjob: &&ReplicatedJob| rjob.name == NODE || rjob.name == LAUNCHER && launcher_is_node(policy);
    let named = |rjob: &ReplicatedJob, host: String| match host.split_once('.') {
        Some((bare, _)) if implementation.bare_launcher && rjob.name == LAUNCHER => bare.to_owned(),
        _ => host,
    };
    let rjobs = draft.rjobs.iter().filter(is_host);
    let hosts = rjobs.flat_map(|rjob| draft.hosts(rjob).map(move |host| named(rjob, host)));
    let lines = hosts.map(|host| (implementation.line)(&host, slots));
    let Some(content) = files::bounded(lines) else {
        let asked_by_job = draft.job.num_nodes();
        let field = asked_by_job.map_or(RUNTIME_REF, |_| "spec.trainer.numNodes");
        let message = format!(
            "the hostfile would be larger than the {} bytes that a ConfigMap can hold; use fewer nodes",
            files::LARGEST
        );
        return Err(Problem::invalid(field, message));
    };
    Ok(ConfigMap {
        metadata: ownership::owned(draft.job, hostfile_name(draft)),
        data: Some(BTreeMap::from([(HOSTFILE.to_owned(), content)])),
        ..ConfigMap::default()
    })
}

fn hostfile_name(draft: &Draft<'_>) -> String {
    format!("{}{HOSTFILE_SUFFIX}", draft.job_name())
}

/// Makes the volume of the hostfile.
pub(super) fn hostfile_volume(draft: &Draft<'_>) -> Value {
    let item = json!({"key": HOSTFILE, "path": HOSTFILE, "mode": 0o444});
    json!({
        "name": HOSTFILE_VOLUME,
        "configMap": {"name": hostfile_name(draft), "items": [item]},
    })
}

/// Mounts the hostfile.
pub(super) fn hostfile_mount() -> Mount {
    Mount::volume(HOSTFILE_VOLUME, CONFIG_PATH)
}
