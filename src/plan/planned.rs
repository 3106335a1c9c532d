//! What a job becomes: the plan, of which nothing is left to be decided.

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;

use super::existing::JobSetAction;
use super::gang::{Gang, GangObject};
use super::secrets::NewSecret;
use super::trace::Trace;
use crate::k8s::path::FieldPath;

/// All that is to be done for a job, in the order of the fields: no pod waits for what it mounts.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Secrets, created once and never changed or read.
    pub secrets: Vec<NewSecret>,
    /// The runtime as it is now, kept for the life of the JobSet that is made of it; it replaces an older one. `None` when
    /// it is there already.
    pub snapshot: Option<ConfigMap>,
    /// Files for the pods.
    pub config_maps: Vec<ConfigMap>,
    /// What a gang scheduler reads.
    pub gang_objects: Vec<GangObject>,
    /// The pods that are placed together, and what that reserves; `None` where each is placed for itself.
    pub gang: Option<Gang>,
    /// The JobSet.
    pub jobset: PlannedJobSet,
    /// What the author should know although the job runs; empty once there is a JobSet, as it was said before.
    pub warnings: Vec<String>,
    /// Why each value of the JobSet is what it is; empty unless [`super::explain`] was called.
    pub trace: Trace,
}

/// The JobSet as it should be, and how to get there from what exists.
#[derive(Clone, Debug)]
pub struct PlannedJobSet {
    /// The whole object as it is created where none exists.
    pub object: Value,
    /// What is to be done.
    pub action: JobSetAction,
    /// Paths in which the existing JobSet differs and cannot be changed any more.
    pub frozen: Vec<FieldPath>,
}
