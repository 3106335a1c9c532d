//! The node: containerd, the kubelet, kube-proxy and CoreDNS, with their settings.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use serde_json::json;

use crate::boot::Boot;
use crate::build::go;
use crate::layout;
use crate::network::{
    DNS_HEALTH_PORT, DNS_READY_PORT, NODE, NODE_ADDRESS, PODS, PROXY_HEALTH_PORT, PROXY_METRICS_PORT,
};
use crate::state::{State, text};
use crate::store;

const FLEX_VOLUMES: &str = "/var/lib/kubelet/volumeplugins";

/// Returns the folders of the node's programs: in the cluster's folder, and where the programs look for them.
pub(crate) fn binds(state: &State) -> Vec<(PathBuf, PathBuf)> {
    [
        ("containerd", store::CONTAINERD),
        ("kubelet", "/var/lib/kubelet"),
        ("cni", "/var/lib/cni"),
        ("pods", "/var/log/pods"),
    ]
    .into_iter()
    .map(|(folder, target)| (state.path("node").join(folder), PathBuf::from(target)))
    .collect()
}

/// Starts containerd with the images already in it.
pub(crate) fn start_containerd(boot: &mut Boot<'_>) -> Result<()> {
    let store = boot
        .programs
        .image_store
        .as_deref()
        .ok_or_else(|| anyhow!("this cluster has no images"))?;
    store::seed(store, &boot.state.path("node/containerd"))?;
    let network = json!({
        "cniVersion": "1.0.0",
        "name": "pods",
        "plugins": [
            {
                "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": false, "hairpinMode": true,
                "ipam": {"type": "host-local", "ranges": [[{"subnet": PODS}]], "routes": [{"dst": "0.0.0.0/0"}]},
            },
            {"type": "portmap", "capabilities": {"portMappings": true}},
        ],
    });
    boot.state
        .write("config/cni/10-pods.conflist", &network.to_string())?;
    let config = store::containerd_config(&boot.state.path("config/cni"));
    let config = boot.state.write("config/containerd.toml", &config)?;
    let containerd = store::start_containerd(&boot.namespaces, &config, &boot.state.log("containerd"))?;
    boot.components.push(containerd);
    Ok(())
}

/// Starts the kubelet and kube-proxy.
pub(crate) fn start_kubelet_and_proxy(boot: &mut Boot<'_>) -> Result<()> {
    let file = |name: &str| text(&boot.pki.file(name));
    let config = json!({
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "failCgroupV1": false,
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": format!("/{}", boot.state.cgroup()),
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "failSwapOn": false,
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": file("ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": file("kubelet-server.crt"),
        "tlsPrivateKeyFile": file("kubelet-server.key"),
        "clusterDNS": [NODE_ADDRESS],
        "clusterDomain": "cluster.local",
        // No DNS server is reachable outside the cluster.
        "resolvConf": "",
        "syncFrequency": "10s",
        "nodeStatusUpdateFrequency": "5s",
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "1%", "nodefs.inodesFree": "1%", "imagefs.available": "1%"},
        // A removed image could not be pulled again.
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        "maxPods": 250,
        "volumePluginDir": FLEX_VOLUMES,
    });
    let config = boot.state.write("config/kubelet.json", &config.to_string())?;
    let node = format!("system:node:{NODE}");
    let kubeconfig = boot.pki.kubeconfig("kubelet", &node, Some("system:nodes"))?;
    boot.start(
        go::KUBELET,
        &[
            format!("--config={}", text(&config)),
            format!("--kubeconfig={}", text(&kubeconfig)),
            format!("--hostname-override={NODE}"),
            format!("--node-ip={NODE_ADDRESS}"),
        ],
    )?;

    let kubeconfig = boot.pki.kubeconfig("kube-proxy", "system:kube-proxy", None)?;
    let config = json!({
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "kind": "KubeProxyConfiguration",
        "mode": "nftables",
        "clusterCIDR": PODS,
        "hostnameOverride": NODE,
        "clientConnection": {"kubeconfig": text(&kubeconfig)},
        // These are settings of the machine, not of a namespace: leave them unchanged.
        "conntrack": {"maxPerCore": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
        "metricsBindAddress": format!("127.0.0.1:{PROXY_METRICS_PORT}"),
        "healthzBindAddress": format!("127.0.0.1:{PROXY_HEALTH_PORT}"),
    });
    let config = boot.state.write("config/kube-proxy.json", &config.to_string())?;
    boot.start(go::KUBE_PROXY, &[format!("--config={}", text(&config))])
}

/// Applies the policy by which pods use the imported images instead of pulling.
pub(crate) fn keep_images(boot: &Boot<'_>) -> Result<()> {
    boot.kubectl.apply(image_policy()?)
}

/// Reads the manifests of that policy.
pub fn image_policy() -> Result<Vec<u8>> {
    Ok(fs::read(layout::input("manifests/images-are-there.yaml"))?)
}

/// Starts CoreDNS as a process of the node: so it answers before there is any pod or service.
pub(crate) fn start_dns(boot: &mut Boot<'_>) -> Result<()> {
    boot.kubectl
        .apply(fs::read(layout::input("manifests/coredns.yaml"))?)?;
    let kubeconfig = text(&boot.pki.kubeconfig("coredns", "coredns", None)?);
    let config = format!(
        ".:53 {{
    bind {NODE_ADDRESS}
    errors
    health 127.0.0.1:{DNS_HEALTH_PORT}
    ready 127.0.0.1:{DNS_READY_PORT}
    kubernetes cluster.local in-addr.arpa {{
        kubeconfig {kubeconfig} trainer
        pods insecure
        ttl 1
    }}
}}
"
    );
    let config = boot.state.write("config/Corefile", &config)?;
    boot.start(go::COREDNS, &["-conf".to_owned(), text(&config)])
}
