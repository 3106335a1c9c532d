//! How images get into the nodes of an existing cluster, which needs no registry then.
//!
//! kind and k3d are recognised by what they write into their nodes. Neither was run with these tests: that is tested on
//! recorded nodes.

use std::path::Path;

use anyhow::{Context, Result, bail};
use local_cluster::image::Image;
use local_cluster::process::Task;
use local_cluster::{say, target};
use serde_json::Value;

/// A way to import images.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Loader {
    /// The command of kind, with the name of the cluster and what runs its nodes: `docker`, `podman` or `nerdctl`.
    Kind { cluster: String, provider: String },
    /// The command of k3d, with the name of the cluster.
    K3d { cluster: String },
    /// containerd on this machine, which is the only node.
    Containerd,
    /// k3s on this machine, which is the only node.
    K3s,
    /// A shell command that reads an archive from its standard input.
    Command(String),
}

impl Loader {
    /// Chooses by the nodes, as `kubectl get nodes -o json` prints them, and the name of this machine.
    pub(super) fn of(nodes: &Value, machine: &str) -> Result<Self> {
        let nodes = nodes["items"].as_array().map_or(&[][..], Vec::as_slice);
        let provider_ids = nodes
            .iter()
            .filter_map(|node| node["spec"]["providerID"].as_str());
        if let Some(loader) = provider_ids.into_iter().find_map(Self::of_provider_id) {
            return Ok(loader);
        }
        let Some(node) = nodes.first() else {
            bail!("the cluster has no node");
        };
        let info = &node["status"]["nodeInfo"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let hostname = text(&node["metadata"]["labels"]["kubernetes.io/hostname"]);
        let containerd = text(&info["containerRuntimeVersion"]).starts_with("containerd://");
        if nodes.len() == 1 && hostname == machine && containerd {
            return Ok(if text(&info["kubeletVersion"]).contains("+k3s") {
                Self::K3s
            } else {
                Self::Containerd
            });
        }
        bail!(
            "cannot tell how to import images into node {}: add --import with a command that reads a tar archive, such as \
             --import 'ssh NODE sudo ctr --namespace k8s.io images import -'",
            text(&node["metadata"]["name"])
        )
    }

    /// Recognises `kind://PROVIDER/CLUSTER/NODE`, and `k3s://k3d-CLUSTER-ROLE-NUMBER`.
    fn of_provider_id(provider_id: &str) -> Option<Self> {
        if let Some(rest) = provider_id.strip_prefix("kind://") {
            let mut parts = rest.split('/');
            return Some(Self::Kind {
                provider: parts.next()?.to_owned(),
                cluster: parts.next()?.to_owned(),
            });
        }
        let node = provider_id.strip_prefix("k3s://k3d-")?;
        // The name of the cluster may have hyphens too.
        let (cluster_and_role, _) = node.rsplit_once('-')?;
        let (cluster, role) = cluster_and_role.rsplit_once('-')?;
        ["server", "agent"].contains(&role).then(|| Self::K3d {
            cluster: cluster.to_owned(),
        })
    }

    /// Imports an image into all nodes.
    pub(super) fn load(&self, image: &Image) -> Result<()> {
        say!("importing {} ({} MB)", image.reference, image.size()? / 1_000_000);
        let folder = target();
        let archive = folder.join(format!("import-{}.tar", std::process::id()));
        let scratch = archive.with_extension("layout");
        let loaded = image
            .save(&archive, &scratch)
            .and_then(|()| self.task(&archive).text())
            .with_context(|| format!("importing {}", image.reference));
        let _ = std::fs::remove_file(&archive);
        loaded.map(drop)
    }

    fn task(&self, archive: &Path) -> Task {
        match self {
            Self::Kind { cluster, provider } => Task::new("kind")
                .args(["load", "image-archive", "--name", cluster])
                .arg(archive)
                .env("KIND_EXPERIMENTAL_PROVIDER", provider),
            Self::K3d { cluster } => Task::new("k3d")
                .args(["image", "import", "--cluster", cluster])
                .arg(archive),
            Self::Containerd => Task::new("ctr")
                .args(["--namespace", "k8s.io", "images", "import"])
                .arg(archive),
            Self::K3s => Task::new("k3s").args(["ctr", "images", "import"]).arg(archive),
            Self::Command(command) => Task::new("sh")
                .args(["-c", &format!("{{ {command}\n}} <\"$0\"")])
                .arg(archive),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The fields that are read, of a node as `kubectl get nodes -o json` prints it.
    fn node(name: &str, provider_id: Option<&str>, kubelet: &str, runtime: &str) -> Value {
        json!({
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "spec": {"providerID": provider_id},
            "status": {"nodeInfo": {"kubeletVersion": kubelet, "containerRuntimeVersion": runtime}},
        })
    }

    #[track_caller]
    fn chooses(nodes: &[Value], expected: &Loader) {
        let nodes = json!({"apiVersion": "v1", "kind": "List", "items": nodes});
        assert_eq!(Loader::of(&nodes, "laptop").unwrap(), *expected);
    }

    #[test]
    fn kind_is_recognised_by_its_provider_ids() {
        let nodes = ["kind-control-plane", "kind-worker"].map(|name| {
            let id = format!("kind://docker/kind/{name}");
            node(name, Some(&id), "v1.29.2", "containerd://1.7.13")
        });
        let expected = Loader::Kind {
            cluster: "kind".to_owned(),
            provider: "docker".to_owned(),
        };
        chooses(&nodes, &expected);
        let other = node(
            "team-a-control-plane",
            Some("kind://podman/team-a/team-a-control-plane"),
            "v1.29.2",
            "containerd://1.7.13",
        );
        let expected = Loader::Kind {
            cluster: "team-a".to_owned(),
            provider: "podman".to_owned(),
        };
        chooses(&[other], &expected);
    }

    #[test]
    fn k3d_is_recognised_by_its_provider_ids() {
        for (name, cluster) in [
            ("k3d-k3s-default-server-0", "k3s-default"),
            ("k3d-mycluster-agent-1", "mycluster"),
        ] {
            let id = format!("k3s://{name}");
            let node = |name: &str, id: &str| node(name, Some(id), "v1.24.4+k3s1", "containerd://1.6.6-k3s1");
            // A node that was added by hand has a name of its own.
            let added = node("k3d-added-0", "k3s://k3d-added-0");
            let cluster = cluster.to_owned();
            chooses(&[added, node(name, &id)], &Loader::K3d { cluster });
        }
    }

    #[test]
    fn a_single_node_on_this_machine_gets_images_from_its_containerd() {
        let kubeadm = node("laptop", None, "v1.37.2", "containerd://2.2.1");
        chooses(&[kubeadm], &Loader::Containerd);
        let k3s = node(
            "laptop",
            Some("k3s://laptop"),
            "v1.24.4+k3s1",
            "containerd://1.6.6-k3s1",
        );
        chooses(&[k3s], &Loader::K3s);
    }

    #[test]
    fn other_nodes_need_a_command() {
        for nodes in [
            json!([node("elsewhere", None, "v1.37.2", "containerd://2.2.1")]),
            json!([node("laptop", None, "v1.37.2", "cri-o://1.34.1")]),
            json!([
                node("laptop", None, "v1.37.2", "containerd://2.2.1"),
                node("other", None, "v1.37.2", "containerd://2.2.1")
            ]),
        ] {
            let error = Loader::of(&json!({ "items": nodes }), "laptop").unwrap_err();
            assert!(error.to_string().contains("--import"), "{error}");
        }
    }

    #[test]
    fn a_command_reads_the_archive_from_its_standard_input() {
        let file = std::env::temp_dir().join(format!("loader-{}.tar", std::process::id()));
        std::fs::write(&file, "archive").unwrap();
        let printed = Loader::Command("tr a-z A-Z | cat".to_owned()).task(&file).text();
        std::fs::remove_file(file).unwrap();
        assert_eq!(printed.unwrap(), "ARCHIVE");
    }
}
