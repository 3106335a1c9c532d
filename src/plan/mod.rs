//! Decides what a TrainJob becomes.
//!
//! Knows the job, its runtime and plain facts of the cluster. Deliberately knows no client, file, clock, environment
//! or randomness: the same inputs give the same plan, byte for byte, in the controller, the offline commands and
//! admission alike.
//!
//! The stages: [`resolve`] finds the runtime, [`settle`] patches its template, checks the job against it and settles what
//! the job becomes, or returns all that is wrong; [`build`] makes the plan of that, and cannot fail. All work on the one
//! JobSet in the [`draft`].

mod accelerators;
mod assemble;
mod build;
mod canonical;
mod check;
mod counts;
mod draft;
mod env;
mod existing;
mod facts;
mod files;
mod framework;
mod frameworks;
mod gang;
mod gang_schedulers;
mod injection;
mod inputs;
mod kueue;
mod named_jobs;
mod node_groups;
mod nodes;
mod overrides;
mod ownership;
mod patches;
mod planned;
mod replicated_job;
mod resolve;
mod resources;
mod roles;
pub mod runtime_rules;
mod secrets;
mod settle;
mod trace;
mod warnings;

pub use existing::JobSetAction;
pub use facts::{Needed, needed};
pub use gang::{Gang, GangObject, Member, Served};
pub use inputs::{Config, Inputs, Known, Observed, Runtime, RuntimeKind};
pub use planned::{Plan, PlannedJobSet};
pub use secrets::{NewSecret, Recipe};
pub use trace::{Entry, Stage, Trace};

use crate::k8s::problem::Problems;
use draft::Draft;
use resolve::Resolved;

/// Works out what a job becomes, or all that is wrong with it.
pub fn plan(inputs: &Inputs<'_>) -> Result<Plan, Problems> {
    decide(inputs, false)
}

/// Does what [`plan`] does and tells why each value is what it is.
pub fn explain(inputs: &Inputs<'_>) -> Result<Plan, Problems> {
    decide(inputs, true)
}

fn decide(inputs: &Inputs<'_>, traced: bool) -> Result<Plan, Problems> {
    let write_back = canonical::warn_of_write_back(inputs.job);
    let job = &canonical::of(inputs.job);
    let inputs = &Inputs { job, ..*inputs };
    let Resolved {
        runtime,
        snapshot,
        digest,
    } = resolve::resolve(inputs)?;
    let mut draft = Draft::new(job, &runtime, inputs.config, traced);
    draft.warnings.extend(write_back);
    let settled = settle::settle(draft, inputs.observed)?;
    Ok(build::build(settled, inputs.observed, snapshot, &digest))
}
