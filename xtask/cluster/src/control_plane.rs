//! The command lines of etcd, the API server, the controllers and the scheduler.

use anyhow::Result;

use crate::boot::Boot;
use crate::build::go;
use crate::layout;
use crate::network::{API_PORT, ETCD_PEER_PORT, ETCD_PORT, NODE_ADDRESS, SERVICES};
use crate::state::text;

/// Gang scheduling by Kubernetes itself needs both. With the gate alone the scheduler waits for the v1beta1 API forever, and
/// without the gate the API is not served.
const FEATURE_GATES: &str = "GenericWorkload=true";
const EXTRA_APIS: &str = "scheduling.k8s.io/v1beta1=true";

/// Starts etcd and the API server.
pub(crate) fn start_storage_and_api(boot: &mut Boot<'_>) -> Result<()> {
    let client = format!("http://127.0.0.1:{ETCD_PORT}");
    let peer = format!("http://127.0.0.1:{ETCD_PEER_PORT}");
    let data = text(&boot.state.path("etcd"));
    boot.start(
        go::ETCD,
        &[
            // The data is removed with the cluster.
            "--unsafe-no-fsync",
            "--log-level=warn",
            "--name=etcd",
            &format!("--data-dir={data}"),
            &format!("--listen-client-urls={client}"),
            &format!("--advertise-client-urls={client}"),
            &format!("--listen-peer-urls={peer}"),
            &format!("--initial-advertise-peer-urls={peer}"),
            &format!("--initial-cluster=etcd={peer}"),
        ],
    )?;

    let file = |name: &str| text(&boot.pki.file(name));
    let policy = layout::input("manifests/audit-policy.yaml");
    let arguments = [
        format!("--secure-port={API_PORT}"),
        "--bind-address=0.0.0.0".to_owned(),
        format!("--advertise-address={NODE_ADDRESS}"),
        format!("--etcd-servers={client}"),
        format!("--tls-cert-file={}", file("apiserver.crt")),
        format!("--tls-private-key-file={}", file("apiserver.key")),
        format!("--client-ca-file={}", file("ca.crt")),
        format!(
            "--kubelet-client-certificate={}",
            file("apiserver-to-kubelet.crt")
        ),
        format!("--kubelet-client-key={}", file("apiserver-to-kubelet.key")),
        format!("--kubelet-certificate-authority={}", file("ca.crt")),
        "--kubelet-preferred-address-types=InternalIP".to_owned(),
        format!("--requestheader-client-ca-file={}", file("front-proxy-ca.crt")),
        format!("--proxy-client-cert-file={}", file("front-proxy-client.crt")),
        format!("--proxy-client-key-file={}", file("front-proxy-client.key")),
        "--requestheader-username-headers=X-Remote-User".to_owned(),
        "--requestheader-group-headers=X-Remote-Group".to_owned(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
        format!("--service-account-key-file={}", file("service-accounts.pub")),
        format!(
            "--service-account-signing-key-file={}",
            file("service-accounts.key")
        ),
        format!("--service-cluster-ip-range={SERVICES}"),
        "--authorization-mode=Node,RBAC".to_owned(),
        // Without OwnerReferencesPermissionEnforcement, which OpenShift has: for ten seconds after a kind was installed it
        // refuses every object with such an owner and `blockOwnerDeletion`, which would slow each test down.
        "--enable-admission-plugins=NodeRestriction".to_owned(),
        "--allow-privileged".to_owned(),
        "--profiling=false".to_owned(),
        format!("--feature-gates={FEATURE_GATES}"),
        format!("--runtime-config={EXTRA_APIS}"),
        format!("--audit-policy-file={}", text(&policy)),
        format!("--audit-log-path={}", text(&boot.state.audit_log())),
        // Benchmarks count its lines, so it must not be rotated.
        "--audit-log-maxsize=4096".to_owned(),
    ];
    boot.start(go::KUBE_APISERVER, &arguments)
}

/// Starts the controllers and the scheduler.
pub(crate) fn start_controllers(boot: &mut Boot<'_>) -> Result<()> {
    let manager = text(&boot.pki.kubeconfig(
        "kube-controller-manager",
        "system:kube-controller-manager",
        None,
    )?);
    let scheduler = text(
        &boot
            .pki
            .kubeconfig("kube-scheduler", "system:kube-scheduler", None)?,
    );
    let file = |name: &str| text(&boot.pki.file(name));
    let arguments = [
        common(&manager),
        vec![
            "--use-service-account-credentials".to_owned(),
            format!("--root-ca-file={}", file("ca.crt")),
            format!(
                "--service-account-private-key-file={}",
                file("service-accounts.key")
            ),
            format!("--cluster-signing-cert-file={}", file("ca.crt")),
            format!("--cluster-signing-key-file={}", file("ca.key")),
            // The default would be made on the machine.
            format!(
                "--flex-volume-plugin-dir={}",
                text(&boot.state.path("flex-volumes"))
            ),
        ],
    ]
    .concat();
    boot.start(go::KUBE_CONTROLLER_MANAGER, &arguments)?;
    boot.start(go::KUBE_SCHEDULER, &common(&scheduler))
}

/// Returns the flags that controllers and scheduler have in common.
fn common(kubeconfig: &str) -> Vec<String> {
    vec![
        format!("--kubeconfig={kubeconfig}"),
        format!("--authentication-kubeconfig={kubeconfig}"),
        format!("--authorization-kubeconfig={kubeconfig}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--leader-elect=false".to_owned(),
        // With the default limits the controllers start five seconds later.
        "--kube-api-qps=300".to_owned(),
        "--kube-api-burst=500".to_owned(),
        format!("--feature-gates={FEATURE_GATES}"),
    ]
}
