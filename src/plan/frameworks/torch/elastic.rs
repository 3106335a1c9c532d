//! Elastic torch: torchrun's c10d rendezvous instead of fixed ranks, so that nodes may come and go.
//!
//! Node 0 keeps the rendezvous; the run does not survive without it. A pod that is lost is made anew by its Job and
//! joins again. Source of the rule: `nnodes` of torchrun is `MIN:MAX`, and there are no node ranks to give.

use super::names;
use crate::api::names::TRAINER_PORT;
use crate::api::runtime::TorchElastic;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::draft::Draft;
use crate::plan::env::{self, Variable};
use crate::plan::nodes::Nodes;
use crate::plan::resolve::RUNTIME_REF;

const DEFAULT_MAX_RESTARTS: i32 = 3;

/// Variables of an elastic run, and those that would take its place.
pub(super) const RESERVED: [&str; 11] = [
    names::MASTER_ADDR,
    names::MASTER_PORT,
    names::MAX_RESTARTS,
    names::NNODES,
    names::NODE_RANK,
    names::NPROC_PER_NODE,
    names::RDZV_BACKEND,
    names::RDZV_CONF,
    names::RDZV_ENDPOINT,
    names::RDZV_ID,
    names::DISABLE_SHARED_STORE,
];

/// Returns the fewest nodes that can train.
pub(super) fn min_nodes(policy: &TorchElastic) -> i64 {
    i64::from(policy.min_nodes.unwrap_or(1))
}

/// Refuses a number of nodes that is outside of the policy's bounds.
pub(super) fn check(policy: &TorchElastic, draft: &Draft<'_>, nodes: &Nodes, problems: &mut Problems) {
    let (min, count) = (min_nodes(policy), nodes.rjob.count);
    let max = policy.max_nodes.map(i64::from);
    if count < min || max.is_some_and(|max| count > max) {
        let bounds = max.map_or_else(|| format!("{min} or more"), |max| format!("{min} to {max}"));
        let message = format!(
            "{count} nodes; the runtime's mlPolicy.torch.elastic allows {bounds}, set numNodes accordingly"
        );
        let field = if draft.job.num_nodes().is_some() {
            "spec.trainer.numNodes"
        } else {
            RUNTIME_REF
        };
        problems.push(Problem::invalid(field, message));
    }
}

/// Works the variables of a node out, of which `processes` is one.
pub(super) fn environment(
    policy: &TorchElastic,
    draft: &Draft<'_>,
    nodes: &Nodes,
    processes: Variable,
) -> Vec<Variable> {
    let restarts = policy.max_restarts.unwrap_or(DEFAULT_MAX_RESTARTS);
    let mut env = vec![
        env::value(
            names::NNODES,
            format!("{}:{}", min_nodes(policy), nodes.rjob.count),
            "fewest and most nodes: mlPolicy.torch.elastic.minNodes, and the pods of the job that trains",
        ),
        processes,
        env::value(names::RDZV_BACKEND, "c10d", "torchrun's own rendezvous"),
        env::value(
            names::RDZV_ENDPOINT,
            format!("{}:{TRAINER_PORT}", nodes.first_host(draft)),
            "the first pod of the job that trains, and the port at which the nodes meet",
        ),
        env::value(names::RDZV_ID, draft.job_name(), "name of the TrainJob"),
        env::value(
            names::MAX_RESTARTS,
            restarts,
            "mlPolicy.torch.elastic.maxRestarts, or 3",
        ),
        // A torchrun that stays announces the store that it shares with its processes in its first round only, so that a
        // node that comes later waits for it in vain (seen with PyTorch 2.13).
        env::value(
            names::DISABLE_SHARED_STORE,
            1,
            "a node that comes later must learn of the store of the processes",
        ),
    ];
    if let Some(conf) = policy.rdzv_conf.as_ref().filter(|conf| !conf.is_empty()) {
        let settings: Vec<String> = conf.iter().map(|(key, value)| format!("{key}={value}")).collect();
        env.push(env::value(
            names::RDZV_CONF,
            settings.join(","),
            "mlPolicy.torch.elastic.rdzvConf",
        ));
    }
    env
}
