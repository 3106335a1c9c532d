//! The variables of torchrun: its option `--nnodes` is `PET_NNODES`.

/// Number of nodes.
pub(super) const NNODES: &str = "PET_NNODES";
/// Processes on each node.
pub(super) const NPROC_PER_NODE: &str = "PET_NPROC_PER_NODE";
/// Rank of this node.
pub(super) const NODE_RANK: &str = "PET_NODE_RANK";
/// Host name of node 0.
pub(super) const MASTER_ADDR: &str = "PET_MASTER_ADDR";
/// Port of node 0.
pub(super) const MASTER_PORT: &str = "PET_MASTER_PORT";
/// How the nodes of an elastic run find each other.
pub(super) const RDZV_BACKEND: &str = "PET_RDZV_BACKEND";
/// Where they do.
pub(super) const RDZV_ENDPOINT: &str = "PET_RDZV_ENDPOINT";
/// What they call their run.
pub(super) const RDZV_ID: &str = "PET_RDZV_ID";
/// Settings of the rendezvous.
pub(super) const RDZV_CONF: &str = "PET_RDZV_CONF";
/// How often failed processes are started again.
pub(super) const MAX_RESTARTS: &str = "PET_MAX_RESTARTS";
/// Each start of the processes makes a store of its own, instead of keeping that of torchrun.
pub(super) const DISABLE_SHARED_STORE: &str = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE";
