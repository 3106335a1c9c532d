//! The variables of a node: those that every node gets, long ones only where something refers to them, and those of the
//! runtime, which may refer to all of them.

use std::collections::BTreeSet;

use serde_json::Value;

use super::names::{self, suffix};
use super::policy;
use crate::api::raw::Raw;
use crate::api::runtime::CustomPolicy;
use crate::k8s::json as k8s_json;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::draft::Draft;
use crate::plan::env::{self, Variable};
use crate::plan::node_groups::{self, NodeGroup};

/// Makes all variables of a node but its rank, and refuses those that are too long: ours, then those of the runtime for
/// all nodes and for this one.
pub(super) fn of(
    policy: &CustomPolicy,
    draft: &Draft<'_>,
    groups: &[NodeGroup],
    group: &NodeGroup,
    problems: &mut Problems,
) -> Vec<Variable> {
    let mut variables = always(policy, draft, groups);
    for (name, value) in on_demand(policy, draft, groups, group) {
        check_length(&name, &value, problems);
        let why = "the pods that train, or of the replicated job; here because it is referred to";
        variables.push(env::value(&name, value, why));
    }
    for entry in policy::env(policy, &group.rjob.name) {
        let variable = Variable {
            entry: entry.clone(),
            why: "mlPolicy.custom of the runtime",
        };
        match variables.iter_mut().find(|old| old.name() == variable.name()) {
            Some(old) => *old = variable,
            None => variables.push(variable),
        }
    }
    variables
}

/// Makes the variables that every node gets.
fn always(policy: &CustomPolicy, draft: &Draft<'_>, groups: &[NodeGroup]) -> Vec<Variable> {
    let all = hosts(draft, groups, None);
    let processes = policy::processes(policy, draft);
    let nodes = i64::try_from(all.len()).unwrap_or(i64::MAX);
    vec![
        env::value(names::NUM_NODES, nodes, "number of pods that train"),
        env::value(
            names::NUM_PROC_PER_NODE,
            processes,
            "spec.trainer.numProcPerNode, else mlPolicy.custom.numProcPerNode, else the accelerators asked for, or 1",
        ),
        env::value(
            names::WORLD_SIZE,
            nodes.saturating_mul(processes),
            "nodes x processes on each",
        ),
        env::value(
            names::MASTER_ADDR,
            all.first().map_or("", String::as_str),
            "DNS name of the first pod that trains",
        ),
        env::value(
            names::MASTER_PORT,
            policy::port(policy),
            "mlPolicy.custom.port, where the nodes meet",
        ),
    ]
}

fn check_length(name: &str, value: &str, problems: &mut Problems) {
    if value.len() > env::LONGEST {
        let message = format!(
            "{name} would have {} bytes, and an environment variable may have {}; use fewer nodes or shorter names, or \
             mlPolicy.custom.hostList of the runtime, which is a file",
            value.len(),
            env::LONGEST
        );
        problems.push(Problem::invalid("spec.trainer.numNodes", message));
    }
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
    if wanted.contains(names::HOSTS) {
        let hosts = hosts(draft, groups, None).join(",");
        found.push((names::HOSTS.to_owned(), hosts));
    }
    for other in groups {
        let suffix = suffix(&other.rjob.name);
        let hosts_of = format!("{}{suffix}", names::HOSTS);
        let number_of = format!("{}{suffix}", names::NUM_NODES);
        if wanted.contains(hosts_of.as_str()) {
            found.push((hosts_of, hosts(draft, groups, Some(&other.rjob.name)).join(",")));
        }
        if wanted.contains(number_of.as_str()) {
            found.push((number_of, other.rjob.pods().to_string()));
        }
    }
    found
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

/// Lists the variables that something in a node refers to: the runtime's entries, the container's command, arguments and
/// environment, and what the job puts in their place.
fn referred<'d>(policy: &'d CustomPolicy, draft: &'d Draft<'_>, group: &NodeGroup) -> BTreeSet<&'d str> {
    let container = draft.container(group.container);
    let words = ["command", "args"]
        .into_iter()
        .flat_map(|list| k8s_json::list(container, &[list]))
        .filter_map(Value::as_str);
    let trains = group.rjob.trains();
    let section = draft.job.trainer_env().iter().filter(|_| trains).map(Raw::value);
    let values = policy::env(policy, &group.rjob.name)
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
