//! Decides what a TrainJob becomes.
//!
//! Knows the job, its runtime and plain facts of the cluster. Deliberately knows no client, file, clock, environment
//! or randomness: the same inputs give the same plan, byte for byte, in the controller, the offline commands and
//! admission alike.
//!
//! The stages: resolve the runtime, patch it, settle counts and resources, the initializer section, the framework,
//! the trainer section, assemble. Each works on the one JobSet in the [`draft`].

mod inputs;
mod problem;
pub mod runtime_rules;
mod trace;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;

pub use inputs::{Inputs, Observed, Runtime, RuntimeKind};
pub use problem::{Problem, Problems, Reason};
pub use trace::{Entry, Stage, Trace};

/// All that is to be done for a job, in the order of the fields.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The runtime as it is now, kept for the life of the job; created once, never changed. `None` when it is
    /// there already.
    pub snapshot: Option<ConfigMap>,
    /// The JobSet.
    pub jobset: PlannedJobSet,
    /// What the author should know although the job runs.
    pub warnings: Vec<String>,
    /// Why each value of the JobSet is what it is; empty unless [`explain`] was asked.
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
    pub frozen: Vec<String>,
}

/// What is to be done to bring the JobSet about.
#[derive(Clone, Debug, PartialEq)]
pub enum JobSetAction {
    /// Create it.
    Create,
    /// Nothing differs.
    Keep,
    /// Send this JSON merge patch, which holds only what differs.
    Patch(Value),
}

/// Works out what a job becomes, or all that is wrong with it.
pub fn plan(inputs: &Inputs<'_>) -> Result<Plan, Problems> {
    let _ = inputs;
    Err(Problem::invalid("spec", "").into())
}

/// Does what [`plan`] does and tells why each value is what it is.
pub fn explain(inputs: &Inputs<'_>) -> Result<Plan, Problems> {
    plan(inputs)
}
