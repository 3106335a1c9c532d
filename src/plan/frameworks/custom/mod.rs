//! Any other framework: its processes are told of each other in the words of whoever wrote the runtime.
//!
//! Each node gets variables of fixed names, and behind them those of the runtime, which refer to them as Kubernetes has
//! it, `$(NAME)`; so there is no template language of our own. The rank of a node is only known to its own pod, and the
//! kubelet puts it in.

mod host_list;
mod rules;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::api::names;
use crate::api::raw::Raw;
use crate::api::runtime::{CustomPolicy, CustomRole};
use crate::k8s::json as k8s_json;
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::upsert;
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::framework::Framework;
use crate::plan::node_groups::{self, NodeGroup};
use crate::plan::{Runtime, accelerators, env};

/// Variables that every node gets.
const ALWAYS: [&str; 6] = [
    names::TRAINER_NODE_RANK,
    names::TRAINER_NUM_NODES,
    names::TRAINER_NUM_PROC_PER_NODE,
    names::TRAINER_WORLD_SIZE,
    names::TRAINER_MASTER_ADDR,
    names::TRAINER_MASTER_PORT,
];

/// Name of the policy.
const NAME: &str = "custom";

impl Framework for CustomPolicy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reserves(&self, name: &str) -> bool {
        let is_named = |env: &[_]| {
            env.iter()
                .any(|entry: &Raw<_>| k8s_json::name(entry.value()) == Some(name))
        };
        let of_roles = self.roles.iter().flatten().filter_map(|role| role.env.as_deref());
        name.starts_with(names::TRAINER_PREFIX)
            || self.env.as_deref().into_iter().chain(of_roles).any(is_named)
    }

    fn takes_processes(&self) -> bool {
        true
    }

    fn is_node(&self, _draft: &Draft<'_>, rjob: &ReplicatedJob) -> bool {
        rjob.trains() || role(self, &rjob.name).is_some()
    }

    fn check_runtime(&self, runtime: &Runtime, found: &mut Problems) {
        rules::check(runtime, self, found);
    }

    fn check(&self, draft: &Draft<'_>, problems: &mut Problems) {
        let groups = groups(self, draft);
        node_groups::check(draft, NAME, &groups, |group| ports(self, group), problems);
        host_list::check(self, draft, &groups, problems);
        for group in &groups {
            for (name, value) in on_demand(self, draft, &groups, group) {
                if value.len() > env::LONGEST {
                    let message = format!(
                        "{name} would have {} bytes, and an environment variable may have {}; use fewer nodes or shorter \
                         names, or mlPolicy.custom.hostList of the runtime, which is a file",
                        value.len(),
                        env::LONGEST
                    );
                    problems.push(Problem::invalid("spec.trainer.numNodes", message));
                }
            }
        }
    }

    fn inject(&self, draft: &mut Draft<'_>) {
        let groups = groups(self, draft);
        explain(draft);
        for group in &groups {
            for (name, _) in on_demand(self, draft, &groups, group) {
                draft.because_env(
                    &name,
                    "the pods that train, or of the replicated job; here because it is referred to",
                );
            }
            for name in given_env(self, &group.rjob.name).filter_map(k8s_json::name) {
                draft.because_env(name, "mlPolicy.custom of the runtime");
            }
            let entries = environment(self, draft, &groups, group);
            let ports = ports(self, group);
            node_groups::put(draft, group, &entries, ports);
        }
        host_list::mount(self, draft, &groups);
    }
}

/// Finds what a replicated job gets on top of what all get.
fn role<'p>(policy: &'p CustomPolicy, job: &str) -> Option<&'p CustomRole> {
    let roles = policy.roles.as_deref()?;
    roles.iter().find(|role| role.replicated_job == job)
}

/// Lists the replicated jobs whose pods are nodes; each is a role of its own.
fn groups(policy: &CustomPolicy, draft: &Draft<'_>) -> Vec<NodeGroup> {
    let named = |rjob: &ReplicatedJob| role(policy, &rjob.name);
    node_groups::of(
        draft,
        |rjob| {
            let is_node = rjob.trains() || named(rjob).is_some();
            is_node.then(|| rjob.name.clone())
        },
        |rjob| named(rjob).and_then(|role| role.container.as_deref()),
    )
}

fn port(policy: &CustomPolicy) -> i32 {
    policy.port.unwrap_or(i32::from(names::TRAINER_PORT))
}

/// Lists the ports that the container of a node opens.
fn ports(policy: &CustomPolicy, group: &NodeGroup) -> Vec<i32> {
    let meets = (group.rjob.trains()).then(|| port(policy));
    let own = role(policy, &group.rjob.name).and_then(|role| role.ports.as_deref());
    meets
        .into_iter()
        .chain(own.unwrap_or_default().iter().copied())
        .collect()
}

/// Works out the processes on a node: the job's, else the runtime's, else one for each accelerator.
fn processes(policy: &CustomPolicy, draft: &Draft<'_>) -> i64 {
    let devices = || {
        let trainer = draft.trainer()?;
        accelerators::devices(draft.resources(trainer.index, names::NODE), draft.config).processes()
    };
    draft
        .job
        .num_proc_per_node()
        .or(policy.num_proc_per_node.map(i64::from))
        .or_else(devices)
        .unwrap_or(1)
}

/// Gives the end of a variable's name that stands for a replicated job.
fn suffix(job: &str) -> String {
    format!("_{}", job.to_uppercase().replace(['-', '.'], "_"))
}

/// Lists the host names of all pods that train, or of one replicated job.
fn hosts(draft: &Draft<'_>, groups: &[NodeGroup], job: Option<&str>) -> Vec<String> {
    let chosen = groups.iter().filter(|group| match job {
        Some(job) => group.role == job,
        None => group.rjob.trains(),
    });
    chosen
        .flat_map(|group| node_groups::hosts(draft, groups, &group.role))
        .collect()
}

/// Makes all variables of a node but its rank: ours, then those of the runtime for all nodes and for this one.
fn environment(
    policy: &CustomPolicy,
    draft: &Draft<'_>,
    groups: &[NodeGroup],
    group: &NodeGroup,
) -> Vec<Value> {
    let all = hosts(draft, groups, None);
    let processes = processes(policy, draft);
    let nodes = i64::try_from(all.len()).unwrap_or(i64::MAX);
    let mut entries = vec![
        env::value(names::TRAINER_NUM_NODES, nodes),
        env::value(names::TRAINER_NUM_PROC_PER_NODE, processes),
        env::value(names::TRAINER_WORLD_SIZE, nodes.saturating_mul(processes)),
        env::value(names::TRAINER_MASTER_ADDR, all.first().map_or("", String::as_str)),
        env::value(names::TRAINER_MASTER_PORT, port(policy)),
    ];
    let demanded = on_demand(policy, draft, groups, group);
    entries.extend(demanded.iter().map(|(name, value)| env::value(name, value)));
    for entry in given_env(policy, &group.rjob.name) {
        upsert::by_key(&mut entries, "name", entry.clone());
    }
    entries
}

/// Lists the runtime's entries for a node: those of all nodes, then its own.
fn given_env<'p>(policy: &'p CustomPolicy, job: &str) -> impl Iterator<Item = &'p Value> + use<'p> {
    let all = policy.env.as_deref();
    let own = role(policy, job).and_then(|role| role.env.as_deref());
    [all, own].into_iter().flatten().flatten().map(Raw::value)
}

/// Makes the variables that a node gets only because something in it refers to them: they are long.
fn on_demand(
    policy: &CustomPolicy,
    draft: &Draft<'_>,
    groups: &[NodeGroup],
    group: &NodeGroup,
) -> Vec<(String, String)> {
    let wanted = referred(policy, draft, group);
    let mut found = Vec::new();
    if wanted.contains(names::TRAINER_HOSTS) {
        let hosts = hosts(draft, groups, None).join(",");
        found.push((names::TRAINER_HOSTS.to_owned(), hosts));
    }
    for other in groups {
        let suffix = suffix(&other.rjob.name);
        let (hosts_of, number_of) = (
            format!("{}{suffix}", names::TRAINER_HOSTS),
            format!("{}{suffix}", names::TRAINER_NUM_NODES),
        );
        if wanted.contains(hosts_of.as_str()) {
            found.push((hosts_of, hosts(draft, groups, Some(&other.rjob.name)).join(",")));
        }
        if wanted.contains(number_of.as_str()) {
            found.push((number_of, other.rjob.pods().to_string()));
        }
    }
    found
}

/// Lists the variables that something in a node refers to: the runtime's entries, the container's command, arguments and
/// environment, and what the job puts in their place.
fn referred<'d>(policy: &'d CustomPolicy, draft: &'d Draft<'_>, group: &NodeGroup) -> BTreeSet<&'d str> {
    let container = group
        .container
        .as_deref()
        .and_then(|name| draft.container(group.rjob.index, name))
        .unwrap_or(&Value::Null);
    let words = ["command", "args"]
        .into_iter()
        .flat_map(|list| k8s_json::list(container, &[list]))
        .filter_map(Value::as_str);
    let trains = group.rjob.trains();
    let section = draft.job.trainer_env().iter().filter(|_| trains).map(Raw::value);
    let values = given_env(policy, &group.rjob.name)
        .chain(k8s_json::list(container, &["env"]))
        .chain(section)
        .filter_map(|entry| k8s_json::text(entry, &["value"]));
    let program = [draft.job.command(), draft.job.args()]
        .into_iter()
        .flatten()
        .flatten();
    words
        .chain(values)
        .chain(program.filter(|_| trains).map(String::as_str))
        .flat_map(env::references)
        .collect()
}

fn explain(draft: &mut Draft<'_>) {
    for (name, why) in [
        (names::TRAINER_NUM_NODES, "number of pods that train"),
        (
            names::TRAINER_NUM_PROC_PER_NODE,
            "spec.trainer.numProcPerNode, else mlPolicy.custom.numProcPerNode, else the accelerators asked for, or 1",
        ),
        (names::TRAINER_WORLD_SIZE, "nodes x processes on each"),
        (
            names::TRAINER_MASTER_ADDR,
            "DNS name of the first pod that trains",
        ),
        (
            names::TRAINER_MASTER_PORT,
            "mlPolicy.custom.port, where the nodes meet",
        ),
    ] {
        draft.because_env(name, why);
    }
}
