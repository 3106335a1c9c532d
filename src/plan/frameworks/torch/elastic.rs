//! Elastic torch: torchrun's c10d rendezvous instead of fixed ranks, so that nodes may come and go.
//!
//! Node 0 keeps the rendezvous; the run does not survive without it. A pod that is lost is made anew by its Job and
//! joins again. Source of the rule: `nnodes` of torchrun is `MIN:MAX`, and there are no node ranks to give.

use serde_json::Value;

use crate::api::names;
use crate::api::runtime::TorchElastic;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::env;
use crate::plan::resolve::RUNTIME_REF;

const DEFAULT_MAX_RESTARTS: i32 = 3;

/// Variables of an elastic run, and those that would take its place.
pub(super) const RESERVED: [&str; 11] = [
    names::PET_MASTER_ADDR,
    names::PET_MASTER_PORT,
    names::PET_MAX_RESTARTS,
    names::PET_NNODES,
    names::PET_NODE_RANK,
    names::PET_NPROC_PER_NODE,
    names::PET_RDZV_BACKEND,
    names::PET_RDZV_CONF,
    names::PET_RDZV_ENDPOINT,
    names::PET_RDZV_ID,
    names::TORCH_DISABLE_SHARE_RDZV_TCP_STORE,
];

/// Returns the fewest nodes that can train.
pub(super) fn min_nodes(policy: &TorchElastic) -> i64 {
    i64::from(policy.min_nodes.unwrap_or(1))
}

/// Refuses a number of nodes that is outside of the policy's bounds.
pub(super) fn check(
    policy: &TorchElastic,
    draft: &Draft<'_>,
    trainer: &ReplicatedJob,
    problems: &mut Problems,
) {
    let (min, count) = (min_nodes(policy), trainer.count);
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

/// Works the variables of a node out; `processes` is how many torchrun starts there.
pub(super) fn environment(
    policy: &TorchElastic,
    draft: &Draft<'_>,
    trainer: &ReplicatedJob,
    processes: &str,
) -> Vec<Value> {
    let endpoint = format!("{}:{}", draft.host(trainer, 0, 0), names::TRAINER_PORT);
    let mut env = vec![
        env::value(
            names::PET_NNODES,
            format!("{}:{}", min_nodes(policy), trainer.count),
        ),
        env::value(names::PET_NPROC_PER_NODE, processes),
        env::value(names::PET_RDZV_BACKEND, "c10d"),
        env::value(names::PET_RDZV_ENDPOINT, endpoint),
        env::value(names::PET_RDZV_ID, draft.job_name()),
        env::value(
            names::PET_MAX_RESTARTS,
            policy.max_restarts.unwrap_or(DEFAULT_MAX_RESTARTS),
        ),
        // A torchrun that stays announces the store that it shares with its processes in its first round only, so that a
        // node that comes later waits for it in vain (seen with PyTorch 2.13).
        env::value(names::TORCH_DISABLE_SHARE_RDZV_TCP_STORE, 1),
    ];
    if let Some(conf) = policy.rdzv_conf.as_ref().filter(|conf| !conf.is_empty()) {
        let settings: Vec<String> = conf.iter().map(|(key, value)| format!("{key}={value}")).collect();
        env.push(env::value(names::PET_RDZV_CONF, settings.join(",")));
    }
    env
}
