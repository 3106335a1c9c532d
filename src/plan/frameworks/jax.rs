//! JAX: what programs pass to `jax.distributed.initialize`, for one process a pod.
//!
//! Source of the names: JAX reads the coordinator's address from `JAX_COORDINATOR_ADDRESS`; the others are those that
//! programs pass on.

use crate::api::names;
use crate::api::runtime::JaxPolicy;
use crate::k8s::problem::Problems;
use crate::plan::draft::Draft;
use crate::plan::env;
use crate::plan::framework::Framework;
use crate::plan::injection::{CheckedInjection, ContainerInjection, Injection};
use crate::plan::nodes::Nodes;

/// Number of processes.
const NUM_PROCESSES: &str = "JAX_NUM_PROCESSES";
/// Index of this process.
const PROCESS_ID: &str = "JAX_PROCESS_ID";
/// Host and port of process 0.
const COORDINATOR_ADDRESS: &str = "JAX_COORDINATOR_ADDRESS";

impl Framework for JaxPolicy {
    fn name(&self) -> &'static str {
        "jax"
    }

    fn reserved_env(&self) -> &'static [&'static str] {
        &[COORDINATOR_ADDRESS, NUM_PROCESSES, PROCESS_ID]
    }

    fn injection(&self, draft: &Draft<'_>) -> Result<CheckedInjection, Problems> {
        let Some(nodes) = Nodes::find(draft, self.name())? else {
            return Injection::default().check(draft, self.name(), Problems::default());
        };
        let coordinator = format!("{}:{}", nodes.first_host(draft), names::TRAINER_PORT);
        let container = ContainerInjection {
            env: vec![
                env::value(
                    NUM_PROCESSES,
                    nodes.rjob.count,
                    "one process on each pod of the job that trains",
                ),
                env::field(
                    PROCESS_ID,
                    names::RANK_FIELD_PATH,
                    "the pod's index within its Job",
                ),
                env::value(
                    COORDINATOR_ADDRESS,
                    coordinator,
                    "the first pod of the job that trains, and the port at which the nodes meet",
                ),
            ],
            ports: vec![names::TRAINER_PORT],
            ..ContainerInjection::default()
        };
        Injection::into_container(nodes.container, container).check(draft, self.name(), Problems::default())
    }
}
