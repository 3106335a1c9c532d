//! PaddlePaddle: nodes that train collectively, or trainers with parameter servers.
//!
//! Source of the names: `paddle.distributed.launch` takes each of its options from a variable, and `fleet` and
//! `init_parallel_env` read those of the processes. Two facts decide their form. The launcher keeps the meeting place of
//! the nodes only where the host of `PADDLE_MASTER` is, letter by letter, what it takes for its own address; so `POD_IP`
//! is the DNS name of the pod. And it takes `PADDLE_TRAINER_ENDPOINTS` for a list of nodes, so that is what stands there.

mod names;

use crate::api::names::TRAINER_NODE_RANK;
use crate::api::runtime::PaddlePolicy;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::accelerators::Devices;
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::env::{self, Variable};
use crate::plan::framework::{Framework, Part};
use crate::plan::injection::{CheckedInjection, Injection, Success};
use crate::plan::inputs::Runtime;
use crate::plan::node_groups::{self, NodeGroup};
use crate::plan::nodes::Nodes;
use crate::plan::roles::Roles;

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
            names::CURRENT_ENDPOINT,
            names::JOB_ID,
            names::MASTER,
            names::NNODES,
            names::NPROC_PER_NODE,
            names::PORT,
            names::PSERVERS_IP_PORT_LIST,
            names::RANK,
            names::SERVERS_ENDPOINTS,
            names::TRAINERS_ENDPOINTS,
            names::TRAINERS_NUM,
            names::TRAINER_ENDPOINTS,
            names::TRAINER_ID,
            names::POD_IP,
            TRAINER_NODE_RANK,
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

    fn injection(&self, draft: &Draft<'_>) -> Result<CheckedInjection, Problems> {
        let mut problems = Nodes::find(draft, NAME).err().unwrap_or_default();
        let groups = roles(self).groups(draft, &mut problems);
        let serves = groups.iter().any(|group| group.role == SERVER);
        if serves && draft.job.num_proc_per_node().is_some_and(|number| number != 1) {
            let message = "the runtime has parameter servers, and each of its trainers is one process; leave it out, or \
                           raise numNodes";
            problems.push(Problem::invalid("spec.trainer.numProcPerNode", message));
        }
        let addresses = |role| node_groups::addresses(draft, &groups, role, port(self));
        let (trainers, servers) = (addresses(TRAINER), addresses(SERVER));
        check_length(TRAINER, &trainers, &mut problems);
        check_length(SERVER, &servers, &mut problems);
        let containers = groups.iter().map(|group| {
            let env = if serves {
                with_servers(self, draft, group, &trainers, &servers)
            } else {
                collective(self, draft, group, &trainers)
            };
            group.injection(env, vec![port(self)])
        });
        let injection = Injection {
            containers: containers.collect(),
            success: success(draft, &groups, serves),
            ..Injection::default()
        };
        injection.check(draft, self.name(), problems)
    }
}

/// Refuses more addresses than fit into a variable.
fn check_length(role: &str, addresses: &[String], problems: &mut Problems) {
    let length: usize = addresses.iter().map(|address| address.len() + 1).sum();
    if length > env::LONGEST {
        let message = format!(
            "the addresses of the pods in the role {role:?} have {length} bytes, and an environment variable may have {}; \
             use fewer nodes or shorter names",
            env::LONGEST
        );
        problems.push(Problem::invalid("spec.trainer.numNodes", message));
    }
}

/// Lets a run with parameter servers end well with its trainers.
fn success(draft: &Draft<'_>, groups: &[NodeGroup], serves: bool) -> Vec<Success> {
    if !serves {
        return Vec::new();
    }
    let trainers: Vec<&NodeGroup> = groups.iter().filter(|group| group.role == TRAINER).collect();
    let why = "the run ends well when its trainers do; the parameter servers are ended with them";
    node_groups::success(draft, &trainers, why).into_iter().collect()
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
    policy.port.unwrap_or(names::DEFAULT_PORT)
}

/// Works out the processes on a node; `None` where only the launcher can count the devices.
fn processes(draft: &Draft<'_>, group: &NodeGroup) -> Option<i64> {
    let asked = draft.job.num_proc_per_node();
    asked.or_else(|| match draft.devices(group.container) {
        Devices::Uncounted => None,
        devices => Some(devices.processes().unwrap_or(1)),
    })
}

const WHY_RANK: &str = "the pod's index among those that train";
const WHY_TRAINERS: &str = "the pods that train, at mlPolicy.paddle.port";
const WHY_SERVERS: &str = "the pods of the parameter servers, at mlPolicy.paddle.port";
const WHY_TRAINERS_NUM: &str = "number of pods that train";

/// Makes the variables that all nodes get.
fn common(draft: &Draft<'_>, own: &str) -> [Variable; 2] {
    let why = "DNS name of the pod: its address as the others write it";
    [
        env::value(names::POD_IP, own, why),
        env::value(names::JOB_ID, draft.job_name(), "name of the TrainJob"),
    ]
}

/// Makes the variables of nodes that train collectively.
fn collective(
    policy: &PaddlePolicy,
    draft: &Draft<'_>,
    group: &NodeGroup,
    trainers: &[String],
) -> Vec<Variable> {
    let rank = format!("$({TRAINER_NODE_RANK})");
    let own = group.own_host(draft);
    let [pod_ip, job_id] = common(draft, &own);
    let master = trainers.first().map_or("", String::as_str);
    let mut env = vec![
        pod_ip,
        env::value(
            names::MASTER,
            master,
            "the first node, and mlPolicy.paddle.port, where the nodes meet",
        ),
        env::value(names::NNODES, trainers.len(), WHY_TRAINERS_NUM),
        env::value(names::RANK, &rank, WHY_RANK),
        job_id,
    ];
    let processes = processes(draft, group);
    if let Some(processes) = processes {
        env.push(env::value(
            names::NPROC_PER_NODE,
            processes,
            "spec.trainer.numProcPerNode, else the accelerators asked for, or 1",
        ));
    }
    if processes == Some(1) {
        // For a program that is started without the launcher: the node is the process.
        env.extend([
            env::value(names::TRAINER_ID, &rank, WHY_RANK),
            env::value(names::TRAINERS_NUM, trainers.len(), WHY_TRAINERS_NUM),
            env::value(names::TRAINER_ENDPOINTS, trainers.join(","), WHY_TRAINERS),
            env::value(
                names::CURRENT_ENDPOINT,
                format!("{own}:{}", port(policy)),
                "this pod, at mlPolicy.paddle.port",
            ),
        ]);
    }
    env
}

/// Makes the variables of a trainer or parameter server.
fn with_servers(
    policy: &PaddlePolicy,
    draft: &Draft<'_>,
    group: &NodeGroup,
    trainers: &[String],
    servers: &[String],
) -> Vec<Variable> {
    let (endpoints, servers) = (trainers.join(","), servers.join(","));
    let role = if group.role == SERVER {
        "PSERVER"
    } else {
        "TRAINER"
    };
    let [pod_ip, job_id] = common(draft, &group.own_host(draft));
    let mut env = vec![
        pod_ip,
        env::value(names::PORT, port(policy), "mlPolicy.paddle.port"),
        env::value(names::TRAINING_ROLE, role, "role of the replicated job"),
        job_id,
        env::value(names::PSERVERS_IP_PORT_LIST, &servers, WHY_SERVERS),
        env::value(names::TRAINERS_NUM, trainers.len(), WHY_TRAINERS_NUM),
        env::value(names::TRAINER_ENDPOINTS, &endpoints, WHY_TRAINERS),
        env::value(names::SERVERS_ENDPOINTS, &servers, WHY_SERVERS),
        env::value(names::TRAINERS_ENDPOINTS, &endpoints, WHY_TRAINERS),
    ];
    if group.role == TRAINER {
        env.push(env::value(
            names::TRAINER_ID,
            format!("$({TRAINER_NODE_RANK})"),
            WHY_RANK,
        ));
    }
    env
}
