//! The variables that nodes of any framework get, beside their rank.

use crate::api::names::TRAINER_NODE_RANK;

/// Start of the variables that any framework may be given.
pub(super) const PREFIX: &str = "TRAINER_";
/// Number of nodes that train.
pub(super) const NUM_NODES: &str = "TRAINER_NUM_NODES";
/// Processes on each node.
pub(super) const NUM_PROC_PER_NODE: &str = "TRAINER_NUM_PROC_PER_NODE";
/// Number of processes on all nodes.
pub(super) const WORLD_SIZE: &str = "TRAINER_WORLD_SIZE";
/// Host name of node 0.
pub(super) const MASTER_ADDR: &str = "TRAINER_MASTER_ADDR";
/// Port of node 0.
pub(super) const MASTER_PORT: &str = "TRAINER_MASTER_PORT";
/// Host names of the nodes that train, or, with an underscore and a name, of a replicated job.
pub(super) const HOSTS: &str = "TRAINER_HOSTS";

/// Variables that every node gets.
pub(super) const ALWAYS: [&str; 6] = [
    TRAINER_NODE_RANK,
    NUM_NODES,
    NUM_PROC_PER_NODE,
    WORLD_SIZE,
    MASTER_ADDR,
    MASTER_PORT,
];

/// Returns the end of a variable's name that stands for a replicated job.
pub(super) fn suffix(job: &str) -> String {
    format!("_{}", job.to_uppercase().replace(['-', '.'], "_"))
}
