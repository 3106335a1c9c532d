//! The policy's settings, with their defaults.

use serde_json::Value;

use crate::api::names::{NODE, TRAINER_PORT};
use crate::api::raw::Raw;
use crate::api::runtime::{CustomPolicy, CustomRole};
use crate::plan::draft::Draft;
use crate::plan::node_groups::NodeGroup;

/// Finds what a replicated job gets on top of what all get.
pub(super) fn role<'p>(policy: &'p CustomPolicy, job: &str) -> Option<&'p CustomRole> {
    let roles = policy.roles.as_deref()?;
    roles.iter().find(|role| role.replicated_job == job)
}

/// Returns the port at which the nodes meet.
pub(super) fn port(policy: &CustomPolicy) -> i32 {
    policy.port.unwrap_or(TRAINER_PORT)
}

/// Lists the ports that the container of a node opens.
pub(super) fn ports(policy: &CustomPolicy, group: &NodeGroup) -> Vec<i32> {
    let meets = group.rjob.trains().then(|| port(policy));
    let own = role(policy, &group.rjob.name).and_then(|role| role.ports.as_deref());
    let own = own.unwrap_or_default().iter().copied();
    meets.into_iter().chain(own).collect()
}

/// Works out the processes on a node: the job's, else the runtime's, else one for each accelerator.
pub(super) fn processes(policy: &CustomPolicy, draft: &Draft<'_>) -> i64 {
    let devices = || {
        let node = draft.find(draft.trainer()?.index, NODE)?;
        draft.devices(node).processes()
    };
    let asked = draft.job.num_proc_per_node();
    asked
        .or(policy.num_proc_per_node.map(i64::from))
        .or_else(devices)
        .unwrap_or(1)
}

/// Lists the runtime's entries for a node: those of all nodes, then its own.
pub(super) fn env<'p>(policy: &'p CustomPolicy, job: &str) -> impl Iterator<Item = &'p Value> + use<'p> {
    let all = policy.env.as_deref();
    let own = role(policy, job).and_then(|role| role.env.as_deref());
    [all, own].into_iter().flatten().flatten().map(Raw::value)
}
