//! What authors should know of MPI although it works: launchers that come too early, and how Kueue counts.

use serde_json::Value;

use super::implementation::IMPLEMENTATIONS;
use super::policy::LAUNCHER;
use crate::api::names::NODE;
use crate::api::runtime::MpiPolicy;
use crate::k8s::json as k8s_json;
use crate::plan::inputs::Runtime;

/// Lists what the author of a runtime should know.
pub(super) fn of_runtime(runtime: &Runtime) -> Vec<String> {
    let mut found = Vec::new();
    node_warnings(runtime, &mut found);
    launcher_warnings(runtime, &mut found);
    found
}

/// Says how a runtime is written so that Kueue counts as many pods as there are.
pub(super) fn kueue_advice() -> String {
    format!(
        "set spec.trainer.numNodes (2 or more where the launcher is a node), or leave mlPolicy.numNodes out of the \
         runtime and give replicated job {NODE:?} its parallelism"
    )
}

/// Lists what keeps Kueue from admitting a job.
pub(super) fn of_kueue(policy: &MpiPolicy) -> Vec<String> {
    let [default, ..] = IMPLEMENTATIONS;
    let named = policy.mpi_implementation.as_deref().unwrap_or_default();
    if named.is_empty() || named == default.name {
        return Vec::new();
    }
    vec![format!(
        "Kueue refuses jobs whose runtime has the mpiImplementation {named}; take a runtime with {}",
        default.name
    )]
}

fn node_warnings(runtime: &Runtime, found: &mut Vec<String>) {
    let nodes = runtime.spec.ml_policy.as_ref().and_then(|ml| ml.num_nodes);
    if let Some(nodes) = nodes.filter(|&n| n > 1) {
        found.push(format!(
            "mlPolicy.numNodes is {nodes}: MPI runs one launcher and takes the number as the total of nodes, but \
             Kueue counts {nodes} launchers and 1 worker; leave numNodes out and give the replicated job \
             {NODE:?} its parallelism, so that both agree"
        ));
    }
    let publishes = ["spec", "network", "publishNotReadyAddresses"];
    if k8s_json::at(runtime.template(), &publishes) == Some(&Value::Bool(false)) {
        found.push(
            "network.publishNotReadyAddresses is false: the launcher cannot resolve workers that are not ready yet"
                .to_owned(),
        );
    }
}

/// A launcher that starts processes on workers whose sshd does not listen yet fails, or waits for long.
fn launcher_warnings(runtime: &Runtime, found: &mut Vec<String>) {
    let named = |name: &str| runtime.replicated_jobs().find(|rjob| rjob.name() == name);
    let (Some(launcher), Some(node)) = (named(LAUNCHER), named(NODE)) else {
        return;
    };
    let order = ["spec", "startupPolicy", "startupPolicyOrder"];
    let in_order = k8s_json::text(runtime.template(), &order) == Some("InOrder");
    let waits = launcher
        .depends_on()
        .iter()
        .any(|on| k8s_json::name(on) == Some(NODE) && k8s_json::text(on, &["status"]) == Some("Ready"));
    if !waits && !in_order {
        found.push(format!(
            "the replicated job {LAUNCHER:?} does not wait for the workers: give it dependsOn: [{{name: {NODE}, status: \
             Ready}}]"
        ));
    }
    if node
        .container(NODE)
        .is_some_and(|worker| worker.get("readinessProbe").is_none())
    {
        found.push(format!(
            "container {NODE:?} of the workers has no readinessProbe, so they count as ready before their sshd accepts \
             connections: probe its port, such as tcpSocket: {{port: 2222}}"
        ));
    }
}
