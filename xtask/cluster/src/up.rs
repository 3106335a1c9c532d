//! Brings a cluster up, in order: namespaces and certificates, control plane, node.

use anyhow::Result;
use serde_json::Value;

use crate::boot::Boot;
use crate::namespaces::Namespaces;
use crate::programs::Programs;
use crate::say;
use crate::state::{Record, State};
use crate::{control_plane, jobset, network, node};

/// Starts all components and waits until they are ready.
pub(crate) fn bring_up(state: &State, programs: &Programs, with_node: bool) -> Result<Namespaces> {
    let references = programs.images.iter().map(|image| image.reference.clone());
    let mut record = Record {
        node: with_node,
        images: references.collect(),
        ..Record::default()
    };
    let binds = if with_node { node::binds(state) } else { Vec::new() };
    let mut boot = Boot::isolate(state, programs, binds, &mut record)?;
    control_plane::start_storage_and_api(&mut boot)?;
    if with_node {
        node::start_containerd(&mut boot)?;
    }
    boot.wait(90, "the API server", |boot| {
        boot.kubectl.succeeds(&["get", "--raw", "/readyz"])
    })?;
    say!("API server ready");
    control_plane::start_controllers(&mut boot)?;
    if with_node {
        bring_up_node(&mut boot)?;
    }
    boot.wait(60, "the service account controller", |boot| {
        boot.kubectl
            .succeeds(&["get", "serviceaccount", "default", "--namespace", "default"])
    })?;
    record.ready = true;
    state.save(&record)?;
    say!("cluster {} is up", state.name);
    Ok(boot.namespaces)
}

fn bring_up_node(boot: &mut Boot<'_>) -> Result<()> {
    let namespaces = boot.namespaces.clone();
    boot.wait(30, "containerd", |_| {
        Ok(namespaces.task("ctr").arg("version").finish()?.status.success())
    })?;
    node::keep_images(boot)?;
    node::start_kubelet_and_proxy(boot)?;
    node::start_dns(boot)?;
    jobset::start(boot)?;
    boot.wait_for_http("JobSet", network::JOBSET_HEALTH_PORT, "/readyz")?;
    jobset::finish(boot)?;
    say!("JobSet ready");
    boot.wait(60, "the node", |boot| {
        let node = boot.kubectl.find(&["get", "node", network::NODE])?;
        Ok(node.as_ref().is_some_and(is_ready))
    })?;
    boot.wait_for_http("CoreDNS", network::DNS_READY_PORT, "/ready")?;
    boot.wait_for_http("kube-proxy", network::PROXY_HEALTH_PORT, "/healthz")?;
    say!("node ready");
    Ok(())
}

/// Reports whether a Node is ready.
fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    conditions
        .into_iter()
        .flatten()
        .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
}
