//! JAX: what `jax.distributed.initialize` is told by the program, from one process a pod.
//!
//! Source of the names: JAX reads the coordinator's address from `JAX_COORDINATOR_ADDRESS`; the others are those that
//! programs pass on.

use serde_json::json;

use crate::api::names;
use crate::api::runtime::JaxPolicy;
use crate::k8s::json::list_mut;
use crate::k8s::problem::Problems;
use crate::k8s::upsert;
use crate::plan::draft::Draft;
use crate::plan::framework::Framework;
use crate::plan::{check, env};

impl Framework for JaxPolicy {
    fn name(&self) -> &'static str {
        "jax"
    }

    fn reserved_env(&self) -> &'static [&'static str] {
        &[
            names::JAX_COORDINATOR_ADDRESS,
            names::JAX_NUM_PROCESSES,
            names::JAX_PROCESS_ID,
        ]
    }

    fn check(&self, draft: &Draft<'_>, problems: &mut Problems) {
        check::meeting_port_is_free(draft, self.name(), problems);
    }

    fn inject(&self, draft: &mut Draft<'_>) {
        let Some(trainer) = draft.trainer().cloned() else {
            return;
        };
        let coordinator = format!("{}:{}", draft.host(&trainer, 0, 0), names::TRAINER_PORT);
        let entries = [
            env::value(names::JAX_NUM_PROCESSES, trainer.count),
            env::field(names::JAX_PROCESS_ID, names::RANK_FIELD_PATH),
            env::value(names::JAX_COORDINATOR_ADDRESS, coordinator),
        ];
        draft.because_env(
            names::JAX_NUM_PROCESSES,
            "one process on each pod of the job that trains",
        );
        draft.because_env(names::JAX_PROCESS_ID, "the pod's index within its Job");
        draft.because_env(
            names::JAX_COORDINATOR_ADDRESS,
            "the first pod of the job that trains, and the port at which the nodes meet",
        );
        if let Some(container) = draft.container_mut(trainer.index, names::NODE) {
            env::upsert(container, &entries);
            let port = json!({"containerPort": names::TRAINER_PORT});
            upsert::port(list_mut(container, "ports"), port);
        }
    }
}
