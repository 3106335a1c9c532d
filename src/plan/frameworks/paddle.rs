//! PaddlePaddle: nodes that train collectively, or trainers with parameter servers.
//!
//! Source of the names: `paddle.distributed.launch` takes each of its options from a variable, and `fleet` and
//! `init_parallel_env` read those of the processes. Two facts decide their form. The launcher keeps the meeting place of
//! the nodes only where the host of `PADDLE_MASTER` is, letter by letter, what it takes for its own address; so `POD_IP`
//! is the DNS name of the pod. And it takes `PADDLE_TRAINER_ENDPOINTS` for a list of nodes, so that is what stands there.

use serde_json::Value;

use crate::api::names;
use crate::api::runtime::PaddlePolicy;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::accelerators::{self, Devices};
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::framework::{Framework, Part};
use crate::plan::node_groups::{self, NodeGroup};
use crate::plan::roles::Roles;
use crate::plan::{Runtime, env};

const TRAINER: &str = "trainer";
const SERVER: &str = "server";
/// Names of replicated jobs that tell a role.
const NAMES: [(&str, &str); 4] = [
    ("server", SERVER),
    ("ps", SERVER),
    ("trainer", TRAINER),
    ("worker", TRAINER),
];

/// Name of the policy.
const NAME: &str = "paddle";

impl Framework for PaddlePolicy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reserved_env(&self) -> &'static [&'static str] {
        &[
            names::PADDLE_CURRENT_ENDPOINT,
            names::PADDLE_JOB_ID,
            names::PADDLE_MASTER,
            names::PADDLE_NNODES,
            names::PADDLE_NPROC_PER_NODE,
            names::PADDLE_PORT,
            names::PADDLE_PSERVERS_IP_PORT_LIST,
            names::PADDLE_RANK,
            names::PADDLE_SERVERS_ENDPOINTS,
            names::PADDLE_TRAINERS_ENDPOINTS,
            names::PADDLE_TRAINERS_NUM,
            names::PADDLE_TRAINER_ENDPOINTS,
            names::PADDLE_TRAINER_ID,
            names::POD_IP,
            names::TRAINER_NODE_RANK,
            names::TRAINING_ROLE,
        ]
    }

    fn takes_processes(&self) -> bool {
        true
    }

    fn settle_counts(&self, draft: &mut Draft<'_>) {
        roles(self).settle_counts(draft);
    }

    fn takes(&self, _draft: &Draft<'_>, rjob: &ReplicatedJob, part: Part) -> bool {
        match roles(self).of(rjob) {
            // One program plays both roles; a container of another name keeps its own.
            Some(SERVER) => part != Part::Resources,
            role => role.is_some(),
        }
    }

    fn is_node(&self, _draft: &Draft<'_>, rjob: &ReplicatedJob) -> bool {
        roles(self).of(rjob).is_some()
    }

    fn check_runtime(&self, runtime: &Runtime, found: &mut Problems) {
        roles(self).check_runtime(runtime, found);
    }

    fn check(&self, draft: &Draft<'_>, problems: &mut Problems) {
        let groups = roles(self).groups(draft);
        let port = port(self);
        node_groups::check(draft, NAME, &groups, |_| vec![port], problems);
        if serves(&groups) && draft.job.num_proc_per_node().is_some_and(|number| number != 1) {
            let message = "the runtime has parameter servers, and each of its trainers is one process; leave it out, or \
                           raise numNodes";
            problems.push(Problem::invalid("spec.trainer.numProcPerNode", message));
        }
        for role in [TRAINER, SERVER] {
            let length: usize = node_groups::addresses(draft, &groups, role, port)
                .iter()
                .map(|a| a.len() + 1)
                .sum();
            if length > env::LONGEST {
                let message = format!(
                    "the addresses of the pods in the role {role:?} have {length} bytes, and an environment variable may \
                     have {}; use fewer nodes or shorter names",
                    env::LONGEST
                );
                problems.push(Problem::invalid("spec.trainer.numNodes", message));
            }
        }
    }

    fn inject(&self, draft: &mut Draft<'_>) {
        let groups = roles(self).groups(draft);
        let port = port(self);
        explain(draft);
        for group in &groups {
            let entries = if serves(&groups) {
                with_servers(self, draft, &groups, group)
            } else {
                collective(self, draft, &groups, group)
            };
            node_groups::put(draft, group, &entries, [port]);
        }
        if serves(&groups) {
            let trainers: Vec<&NodeGroup> = groups.iter().filter(|group| group.role == TRAINER).collect();
            let why = "the run ends well when its trainers do; the parameter servers are ended with them";
            node_groups::succeed_with(draft, &trainers, why);
        }
    }
}

fn roles(policy: &PaddlePolicy) -> Roles<'_> {
    let given = policy.roles.as_deref().unwrap_or_default().iter();
    Roles {
        policy: NAME,
        names: &NAMES,
        trainer: TRAINER,
        given: given
            .map(|given| (given.replicated_job.as_str(), given.role.as_str()))
            .collect(),
    }
}

fn port(policy: &PaddlePolicy) -> i32 {
    policy.port.unwrap_or(names::PADDLE_DEFAULT_PORT)
}

/// Tells whether there are parameter servers.
fn serves(groups: &[NodeGroup]) -> bool {
    groups.iter().any(|group| group.role == SERVER)
}

/// Works out the processes on a node; `None` where only the launcher can count the devices.
fn processes(draft: &Draft<'_>, group: &NodeGroup) -> Option<i64> {
    let asked = draft.job.num_proc_per_node();
    let container = group.container.as_deref().unwrap_or(names::NODE);
    let devices = accelerators::devices(draft.resources(group.rjob.index, container), draft.config);
    match devices {
        _ if asked.is_some() => asked,
        Devices::Uncounted => None,
        devices => Some(devices.processes().unwrap_or(1)),
    }
}

/// Makes the variables of nodes that train collectively.
fn collective(
    policy: &PaddlePolicy,
    draft: &Draft<'_>,
    groups: &[NodeGroup],
    group: &NodeGroup,
) -> Vec<Value> {
    let port = port(policy);
    let rank = format!("$({})", names::TRAINER_NODE_RANK);
    let addresses = node_groups::addresses(draft, groups, TRAINER, port);
    let own = group.own_host(draft);
    let mut entries = vec![
        env::value(names::POD_IP, &own),
        env::value(names::PADDLE_MASTER, addresses.first().map_or("", String::as_str)),
        env::value(names::PADDLE_NNODES, addresses.len()),
        env::value(names::PADDLE_RANK, &rank),
        env::value(names::PADDLE_JOB_ID, draft.job_name()),
    ];
    let processes = processes(draft, group);
    if let Some(processes) = processes {
        entries.push(env::value(names::PADDLE_NPROC_PER_NODE, processes));
    }
    if processes == Some(1) {
        // For a program that is started without the launcher: the node is the process.
        entries.extend([
            env::value(names::PADDLE_TRAINER_ID, &rank),
            env::value(names::PADDLE_TRAINERS_NUM, addresses.len()),
            env::value(names::PADDLE_TRAINER_ENDPOINTS, addresses.join(",")),
            env::value(names::PADDLE_CURRENT_ENDPOINT, format!("{own}:{port}")),
        ]);
    }
    entries
}

/// Makes the variables of a trainer or parameter server.
fn with_servers(
    policy: &PaddlePolicy,
    draft: &Draft<'_>,
    groups: &[NodeGroup],
    group: &NodeGroup,
) -> Vec<Value> {
    let port = port(policy);
    let trainers = node_groups::addresses(draft, groups, TRAINER, port);
    let servers = node_groups::addresses(draft, groups, SERVER, port).join(",");
    let role = if group.role == SERVER {
        "PSERVER"
    } else {
        "TRAINER"
    };
    let mut entries = vec![
        env::value(names::POD_IP, group.own_host(draft)),
        env::value(names::PADDLE_PORT, port),
        env::value(names::TRAINING_ROLE, role),
        env::value(names::PADDLE_JOB_ID, draft.job_name()),
        env::value(names::PADDLE_PSERVERS_IP_PORT_LIST, &servers),
        env::value(names::PADDLE_TRAINERS_NUM, trainers.len()),
        env::value(names::PADDLE_TRAINER_ENDPOINTS, trainers.join(",")),
        env::value(names::PADDLE_SERVERS_ENDPOINTS, &servers),
        env::value(names::PADDLE_TRAINERS_ENDPOINTS, trainers.join(",")),
    ];
    if group.role == TRAINER {
        entries.push(env::value(
            names::PADDLE_TRAINER_ID,
            format!("$({})", names::TRAINER_NODE_RANK),
        ));
    }
    entries
}

fn explain(draft: &mut Draft<'_>) {
    let mut because = |names: &[&str], why: &str| names.iter().for_each(|name| draft.because_env(name, why));
    because(
        &[names::POD_IP],
        "DNS name of the pod: its address as the others write it",
    );
    because(
        &[names::PADDLE_MASTER],
        "the first node, and mlPolicy.paddle.port, where the nodes meet",
    );
    because(
        &[names::PADDLE_NNODES, names::PADDLE_TRAINERS_NUM],
        "number of pods that train",
    );
    because(
        &[names::PADDLE_RANK, names::PADDLE_TRAINER_ID],
        "the pod's index among those that train",
    );
    because(
        &[names::PADDLE_NPROC_PER_NODE],
        "spec.trainer.numProcPerNode, else the accelerators asked for, or 1",
    );
    because(&[names::PADDLE_JOB_ID], "name of the TrainJob");
    because(
        &[names::PADDLE_TRAINER_ENDPOINTS, names::PADDLE_TRAINERS_ENDPOINTS],
        "the pods that train, at mlPolicy.paddle.port",
    );
    because(
        &[
            names::PADDLE_PSERVERS_IP_PORT_LIST,
            names::PADDLE_SERVERS_ENDPOINTS,
        ],
        "the pods of the parameter servers, at mlPolicy.paddle.port",
    );
    because(&[names::TRAINING_ROLE], "role of the replicated job");
}
