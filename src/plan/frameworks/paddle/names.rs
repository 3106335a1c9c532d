//! The variables of PaddlePaddle.

/// Host and port of node 0, where the nodes meet.
pub(super) const MASTER: &str = "PADDLE_MASTER";
/// Number of nodes.
pub(super) const NNODES: &str = "PADDLE_NNODES";
/// Rank of this node.
pub(super) const RANK: &str = "PADDLE_RANK";
/// Processes on each node.
pub(super) const NPROC_PER_NODE: &str = "PADDLE_NPROC_PER_NODE";
/// Name of the run.
pub(super) const JOB_ID: &str = "PADDLE_JOB_ID";
/// The address by which others reach this pod.
pub(super) const POD_IP: &str = "POD_IP";
/// Index of this trainer.
pub(super) const TRAINER_ID: &str = "PADDLE_TRAINER_ID";
/// Number of trainers.
pub(super) const TRAINERS_NUM: &str = "PADDLE_TRAINERS_NUM";
/// Addresses of the trainers, for the processes.
pub(super) const TRAINER_ENDPOINTS: &str = "PADDLE_TRAINER_ENDPOINTS";
/// Address of this trainer.
pub(super) const CURRENT_ENDPOINT: &str = "PADDLE_CURRENT_ENDPOINT";
/// Addresses of the trainers, for the launcher.
pub(super) const TRAINERS_ENDPOINTS: &str = "PADDLE_TRAINERS_ENDPOINTS";
/// Addresses of the parameter servers, for the launcher.
pub(super) const SERVERS_ENDPOINTS: &str = "PADDLE_SERVERS_ENDPOINTS";
/// Addresses of the parameter servers, for the processes.
pub(super) const PSERVERS_IP_PORT_LIST: &str = "PADDLE_PSERVERS_IP_PORT_LIST";
/// `TRAINER` or `PSERVER`.
pub(super) const TRAINING_ROLE: &str = "TRAINING_ROLE";
/// Port at which this pod listens.
pub(super) const PORT: &str = "PADDLE_PORT";
/// Port of the nodes where the runtime does not say.
pub(super) const DEFAULT_PORT: i32 = 37777;
