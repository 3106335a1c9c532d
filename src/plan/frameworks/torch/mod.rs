//! PyTorch: what torchrun reads from its environment to form one world out of the nodes.
//!
//! Source of the names: torchrun takes each of its options from `PET_<OPTION>`. The nodes meet at node 0, by fixed
//! ranks or, in an elastic run, through torchrun's own rendezvous. torchtune starts torchrun itself.

mod elastic;
mod tune;

use serde_json::{Value, json};

use crate::api::names;
use crate::api::runtime::TorchPolicy;
use crate::k8s::json::list_mut;
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::suggest;
use crate::k8s::{json as k8s_json, upsert};
use crate::plan::accelerators::{self, Devices};
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::framework::Framework;
use crate::plan::resolve::RUNTIME_REF;
use crate::plan::{check, env};

/// Processes of torchrun on a node: as many as it sees devices.
const AUTO: &str = "auto";

/// Processes of torchrun on a node, with what they were worked out from.
struct Processes {
    text: String,
    why: &'static str,
    /// Whether one process is only a guess for want of resources.
    guessed: bool,
}

/// Variables of a run with fixed ranks.
const RESERVED: [&str; 5] = [
    names::PET_MASTER_ADDR,
    names::PET_MASTER_PORT,
    names::PET_NNODES,
    names::PET_NODE_RANK,
    names::PET_NPROC_PER_NODE,
];

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

    fn check(&self, draft: &Draft<'_>, problems: &mut Problems) {
        if let (Some(elastic), Some(trainer)) = (&self.elastic, draft.trainer()) {
            elastic::check(elastic, draft, trainer, problems);
        }
        check::meeting_port_is_free(draft, self.name(), problems);
        check_injection(self, draft, problems);
        if let Some(trainer) = draft.trainer().filter(|_| tune::is_called(draft.job)) {
            tune::check(draft, trainer, &processes(draft, trainer), problems);
        }
    }

    fn inject(&self, draft: &mut Draft<'_>) {
        let Some(trainer) = draft.trainer().cloned() else {
            return;
        };
        let processes = processes(draft, &trainer);
        let env = environment(self, draft, &trainer, &processes);
        explain(self, draft, &processes);
        if tune::is_called(draft.job) {
            put(draft, &trainer, &processes, &tune::without_master(&env));
            tune::replace_command(draft, &trainer, &processes);
        } else {
            put(draft, &trainer, &processes, &env);
        }
        put_into_targets(self, draft, &env);
    }
}

/// Refuses targets of `envInjection` that the runtime does not have.
fn check_injection(policy: &TorchPolicy, draft: &Draft<'_>, problems: &mut Problems) {
    for (job, container) in injection_targets(policy) {
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

/// Puts the environment of the nodes into their containers.
fn put(draft: &mut Draft<'_>, trainer: &ReplicatedJob, processes: &Processes, env: &[Value]) {
    if processes.guessed {
        let what = "neither spec.trainer.numProcPerNode nor any CPU or accelerator is given: \
                    each node runs 1 process; set one of them to use more";
        draft.warnings.push(what.to_owned());
    }
    if let Some(container) = draft.container_mut(trainer.index, names::NODE) {
        env::upsert(container, env);
        let port = json!({"containerPort": names::TRAINER_PORT});
        upsert::port(list_mut(container, "ports"), port);
    }
}

/// Puts the environment into the further containers of `envInjection`.
fn put_into_targets(policy: &TorchPolicy, draft: &mut Draft<'_>, env: &[Value]) {
    for (job, container) in injection_targets(policy) {
        let index = draft.rjob(job).map(|rjob| rjob.index);
        if let Some(container) = index.and_then(|index| draft.any_container_mut(index, container)) {
            env::upsert(container, env);
        }
    }
}

/// Works the variables out, in the order that clients know.
fn environment(
    policy: &TorchPolicy,
    draft: &Draft<'_>,
    trainer: &ReplicatedJob,
    processes: &Processes,
) -> Vec<Value> {
    if let Some(elastic) = &policy.elastic {
        return elastic::environment(elastic, draft, trainer, &processes.text);
    }
    vec![
        env::value(names::PET_NNODES, trainer.count),
        env::value(names::PET_NPROC_PER_NODE, &processes.text),
        env::field(names::PET_NODE_RANK, names::RANK_FIELD_PATH),
        env::value(names::PET_MASTER_ADDR, draft.host(trainer, 0, 0)),
        env::value(names::PET_MASTER_PORT, names::TRAINER_PORT),
    ]
}

fn explain(policy: &TorchPolicy, draft: &mut Draft<'_>, processes: &Processes) {
    let nodes = if policy.elastic.is_some() {
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
fn injection_targets(policy: &TorchPolicy) -> impl Iterator<Item = (&str, &str)> {
    let targets = policy
        .env_injection
        .as_ref()
        .and_then(|injection| injection.targets.as_deref());
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
