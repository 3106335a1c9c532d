//! PyTorch: what torchrun reads from its environment to form one world out of the nodes.
//!
//! Source of the names: torchrun takes each of its options from `PET_<OPTION>`. The nodes meet at node 0, by fixed
//! ranks or, in an elastic run, through torchrun's own rendezvous. torchtune starts torchrun itself.

mod elastic;
mod tune;

use serde_json::{Value, json};

use super::Framework;
use crate::api::runtime::TorchPolicy;
use crate::api::{TrainJob, names};
use crate::k8s::json::list_mut;
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::suggest;
use crate::k8s::{json as k8s_json, upsert};
use crate::plan::accelerators::{self, Devices};
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::resolve::RUNTIME_REF;
use crate::plan::{check, env};

/// Processes of torchrun on a node: as many as it sees devices.
const AUTO: &str = "auto";

/// PyTorch with torchrun.
struct Torch;

/// Gives what runs a job under the policy `torch`: its command tells torchtune from anything else.
pub(super) fn of(job: Option<&TrainJob>) -> &'static dyn Framework {
    if job.is_some_and(tune::is_called) {
        &tune::Torchtune
    } else {
        &Torch
    }
}

/// Processes of torchrun on a node, with what they were worked out from.
struct Processes {
    text: String,
    why: &'static str,
    /// Whether one process is only a guess for want of resources.
    guessed: bool,
}

impl Framework for Torch {
    fn name(&self) -> &'static str {
        "torch"
    }

    fn reserved_env(&self, draft: &Draft<'_>) -> &'static [&'static str] {
        reserved_env(draft)
    }

    fn takes_processes(&self) -> bool {
        true
    }

    fn follows_trainer_env(&self) -> bool {
        true
    }

    fn fewest(&self, draft: &Draft<'_>, rjob: &ReplicatedJob) -> i64 {
        elastic::fewest(draft, rjob)
    }

    fn check(&self, draft: &Draft<'_>, problems: &mut Problems) {
        check(draft, problems);
    }

    fn inject(&self, draft: &mut Draft<'_>) {
        let Some(trainer) = draft.trainer().cloned() else {
            return;
        };
        let processes = processes(draft, &trainer);
        let env = environment(draft, &trainer, &processes);
        put(draft, &trainer, &processes, &env, &env);
    }
}

fn policy<'d>(draft: &Draft<'d>) -> Option<&'d TorchPolicy> {
    draft.runtime.spec.ml_policy.as_ref()?.torch.as_ref()
}

fn reserved_env(draft: &Draft<'_>) -> &'static [&'static str] {
    if elastic::policy(draft).is_some() {
        &elastic::RESERVED
    } else {
        &[
            names::PET_MASTER_ADDR,
            names::PET_MASTER_PORT,
            names::PET_NNODES,
            names::PET_NODE_RANK,
            names::PET_NPROC_PER_NODE,
        ]
    }
}

fn check(draft: &Draft<'_>, problems: &mut Problems) {
    elastic::check(draft, problems);
    check::meeting_port_is_free(draft, "torch", problems);
    for (job, container) in injection_targets(draft) {
        match draft.rjob(job) {
            None => {
                let known = draft.rjobs.iter().map(|rjob| rjob.name.as_str());
                let message = format!(
                    "the runtime's mlPolicy.torch.envInjection names job {job:?}, which it does not have{}",
                    suggest::hint(job, known)
                );
                problems.push(Problem::invalid(RUNTIME_REF, message));
            }
            Some(rjob) if !has_container(draft, rjob, container) => {
                let known = container_names(draft, rjob);
                let message = format!(
                    "the runtime's mlPolicy.torch.envInjection names container {container:?}, which job {job:?} \
                     does not have{}",
                    suggest::hint(container, known)
                );
                problems.push(Problem::invalid(RUNTIME_REF, message));
            }
            Some(_) => {}
        }
    }
}

/// Puts the environment of the nodes, and that of the further containers, in its place.
fn put(
    draft: &mut Draft<'_>,
    trainer: &ReplicatedJob,
    processes: &Processes,
    nodes: &[Value],
    others: &[Value],
) {
    if processes.guessed {
        let what = "neither spec.trainer.numProcPerNode nor any CPU or accelerator is given: \
                    each node runs 1 process; set one of them to use more";
        draft.warnings.push(what.to_owned());
    }
    explain(draft, processes);
    if let Some(container) = draft.container_mut(trainer.index, names::NODE) {
        env::upsert(container, nodes);
        let port = json!({"containerPort": names::TRAINER_PORT});
        upsert::port(list_mut(container, "ports"), port);
    }
    let targets: Vec<(usize, String)> = injection_targets(draft)
        .filter_map(|(job, container)| Some((draft.rjob(job)?.index, container.to_owned())))
        .collect();
    for (index, container) in targets {
        if let Some(container) = draft.any_container_mut(index, &container) {
            env::upsert(container, others);
        }
    }
}

/// Works the variables out, in the order that clients know.
fn environment(draft: &Draft<'_>, trainer: &ReplicatedJob, processes: &Processes) -> Vec<Value> {
    if let Some(policy) = elastic::policy(draft) {
        return elastic::environment(draft, trainer, processes, policy);
    }
    vec![
        env::value(names::PET_NNODES, trainer.count),
        env::value(names::PET_NPROC_PER_NODE, &processes.text),
        env::field(names::PET_NODE_RANK, names::RANK_FIELD_PATH),
        env::value(names::PET_MASTER_ADDR, draft.host(trainer, 0, 0)),
        env::value(names::PET_MASTER_PORT, names::TRAINER_PORT),
    ]
}

fn explain(draft: &mut Draft<'_>, processes: &Processes) {
    let nodes = if elastic::policy(draft).is_some() {
        "fewest and most nodes: mlPolicy.torch.elastic.minNodes, and the pods of the job that trains"
    } else {
        "number of pods of the job that trains"
    };
    let mut because = |name: &str, why: &str| draft.because(format!("env[{name}]"), || why.to_owned());
    because(names::PET_NNODES, nodes);
    because(names::PET_NPROC_PER_NODE, processes.why);
    because(names::PET_NODE_RANK, "the pod's index within its Job");
    because(
        names::PET_MASTER_ADDR,
        "DNS name of the first pod of the job that trains",
    );
    because(names::PET_MASTER_PORT, "the port at which the nodes meet");
    because(
        names::TORCH_DISABLE_SHARE_RDZV_TCP_STORE,
        "a node that comes later must learn of the store of the processes",
    );
    because(
        names::PET_RDZV_ENDPOINT,
        "the first pod of the job that trains, and the port at which the nodes meet",
    );
}

/// Works out how many processes torchrun starts on a node, from the resources that the pods really get.
fn processes(draft: &Draft<'_>, trainer: &ReplicatedJob) -> Processes {
    let known = |text: String, why| Processes {
        text,
        why,
        guessed: false,
    };
    if let Some(number) = draft.job.num_proc_per_node() {
        return known(number.to_string(), "spec.trainer.numProcPerNode");
    }
    let resources = draft.resources(trainer.index, names::NODE);
    let auto = || AUTO.to_owned();
    match accelerators::devices(resources, draft.config) {
        Devices::Gpus(_) => known(
            auto(),
            "the container asks for GPUs: one process for each that torch sees",
        ),
        Devices::Mig => known(
            auto(),
            "the container asks for MIG slices: torch counts what it sees",
        ),
        Devices::Other(number) => known(number.to_string(), "one process for each accelerator asked for"),
        Devices::Uncounted => known(
            auto(),
            "the container asks for devices that only the node can count",
        ),
        Devices::None => match accelerators::cpus(resources) {
            Some(number) => known(
                number.to_string(),
                "one process for each CPU asked for, rounded up",
            ),
            None => Processes {
                text: "1".to_owned(),
                why: "no CPU or accelerator is asked for",
                guessed: true,
            },
        },
    }
}

/// Lists job and container of each further place for the variables.
fn injection_targets<'d>(draft: &'d Draft<'_>) -> impl Iterator<Item = (&'d str, &'d str)> {
    let targets = policy(draft)
        .and_then(|t| t.env_injection.as_ref())
        .and_then(|i| i.targets.as_deref());
    targets.unwrap_or_default().iter().flat_map(|target| {
        target
            .container_names
            .iter()
            .map(|container| (target.job_name.as_str(), container.as_str()))
    })
}

fn container_names<'d>(draft: &'d Draft<'_>, rjob: &ReplicatedJob) -> impl Iterator<Item = &'d str> {
    let spec = draft.spec(rjob.index).pod();
    ["containers", "initContainers"]
        .into_iter()
        .flat_map(|list| k8s_json::list(spec, &[list]))
        .filter_map(k8s_json::name)
}

fn has_container(draft: &Draft<'_>, rjob: &ReplicatedJob, name: &str) -> bool {
    container_names(draft, rjob).any(|known| known == name)
}
