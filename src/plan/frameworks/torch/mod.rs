//! PyTorch: what torchrun reads from its environment to form one world out of the nodes.
//!
//! Source of the names: torchrun takes each of its options from `PET_<OPTION>`. The nodes meet at node 0, by fixed
//! ranks or, in an elastic run, through torchrun's own rendezvous. torchtune starts torchrun itself; a job whose command
//! is `tune run` is a job of torch with another command.

mod elastic;
mod names;
mod processes;
mod targets;
mod tune;

use crate::api::names::{RANK_FIELD_PATH, TRAINER_PORT};
use crate::api::runtime::TorchPolicy;
use crate::k8s::problem::Problems;
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::env::{self, Variable};
use crate::plan::framework::Framework;
use crate::plan::injection::{CheckedInjection, ContainerInjection, Injection};
use crate::plan::nodes::Nodes;
use names::{MASTER_ADDR, MASTER_PORT, NNODES, NODE_RANK, NPROC_PER_NODE};
use processes::Processes;

/// Variables of a run with fixed ranks.
const RESERVED: [&str; 5] = [MASTER_ADDR, MASTER_PORT, NNODES, NODE_RANK, NPROC_PER_NODE];

impl Framework for TorchPolicy {
    fn name(&self) -> &'static str {
        "torch"
    }

    fn reserved_env(&self) -> &'static [&'static str] {
        if self.elastic.is_some() {
            &elastic::RESERVED
        } else {
            &RESERVED
        }
    }

    fn takes_processes(&self) -> bool {
        true
    }

    fn follows_trainer_env(&self) -> bool {
        true
    }

    fn fewest(&self, draft: &Draft<'_>, rjob: &ReplicatedJob) -> i64 {
        let is_trainer = draft.trainer().is_some_and(|trainer| trainer.index == rjob.index);
        match &self.elastic {
            Some(elastic) if is_trainer => elastic::min_nodes(elastic).min(rjob.count),
            _ => rjob.count,
        }
    }

    fn injection(&self, draft: &Draft<'_>) -> Result<CheckedInjection, Problems> {
        let Some(nodes) = Nodes::find(draft, self.name())? else {
            return Injection::default().check(draft, self.name(), Problems::default());
        };
        let mut problems = Problems::default();
        if let Some(elastic) = &self.elastic {
            elastic::check(elastic, draft, &nodes, &mut problems);
        }
        let processes = Processes::of(draft, &nodes);
        let env = environment(self, draft, &nodes, &processes);
        let targets = targets::find(self, draft, &mut problems);
        let mut node = ContainerInjection {
            env: env.clone(),
            ports: vec![TRAINER_PORT],
            ..ContainerInjection::default()
        };
        if tune::is_called(draft.job) {
            tune::adapt(&mut node, draft, &nodes, &processes, &mut problems);
        }
        let further = targets.into_iter().map(|target| {
            let env = env.clone();
            (
                target,
                ContainerInjection {
                    env,
                    ..ContainerInjection::default()
                },
            )
        });
        let injection = Injection {
            containers: std::iter::once((nodes.container, node)).chain(further).collect(),
            warnings: processes.warning().map(str::to_owned).into_iter().collect(),
            ..Injection::default()
        };
        injection.check(draft, self.name(), problems)
    }
}

/// Works the variables out, in the order that clients know.
fn environment(
    policy: &TorchPolicy,
    draft: &Draft<'_>,
    nodes: &Nodes,
    processes: &Processes,
) -> Vec<Variable> {
    let processes = env::value(NPROC_PER_NODE, &processes.text, processes.why);
    if let Some(elastic) = &policy.elastic {
        return elastic::environment(elastic, draft, nodes, processes);
    }
    vec![
        env::value(NNODES, nodes.rjob.count, "number of pods of the job that trains"),
        processes,
        env::field(NODE_RANK, RANK_FIELD_PATH, "the pod's index within its Job"),
        env::value(
            MASTER_ADDR,
            nodes.first_host(draft),
            "DNS name of the first pod of the job that trains",
        ),
        env::value(MASTER_PORT, TRAINER_PORT, "the port at which the nodes meet"),
    ]
}
