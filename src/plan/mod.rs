//! Decides what a TrainJob becomes.
//!
//! Knows the job, its runtime and plain facts of the cluster. Deliberately knows no client, file, clock, environment
//! or randomness: the same inputs give the same plan, byte for byte, in the controller, the offline commands and
//! admission alike.
//!
//! The stages: [`resolve()`] finds the runtime, and [`Resolved::required_facts`] lists what must be known of the cluster.
//! [`settle`] patches the runtime's template, checks the job against it and settles what the job becomes, or returns all
//! that is wrong. [`build`] makes the plan of that, and cannot fail. All work on the one JobSet in the [`draft`].

mod accelerators;
mod assemble;
mod build;
mod canonical;
mod check;
mod counts;
mod draft;
mod env;
mod existing;
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
mod required_facts;
mod resolve;
mod resources;
mod roles;
pub mod runtime_rules;
mod secrets;
mod settle;
mod trace;
mod warnings;

pub use existing::JobSetAction;
pub use gang::{Gang, GangObject, Member, Served};
pub use inputs::{ClusterFacts, Config, Inputs, Known, Observed, Runtime, RuntimeKind};
pub use planned::{Plan, PlannedJobSet};
pub use required_facts::RequiredFacts;
pub use resolve::{Resolved, resolve};
pub use secrets::{NewSecret, Recipe};
pub use trace::{Entry, Stage, Trace};

use crate::k8s::problem::Problems;
use draft::Draft;

/// Works out what a job becomes, or all that is wrong with it.
pub fn plan(inputs: Inputs<'_>, facts: &ClusterFacts) -> Result<Plan, Problems> {
    resolve(inputs)?.plan(facts)
}

/// Does what [`plan`] does and notes why each value is what it is.
pub fn explain(inputs: Inputs<'_>, facts: &ClusterFacts) -> Result<Plan, Problems> {
    resolve(inputs)?.decide(facts, true)
}

impl Resolved<'_> {
    /// Lists the facts of the cluster that the plan depends on; none where the pods are placed one by one.
    pub fn required_facts(&self) -> Option<RequiredFacts> {
        required_facts::of(&self.runtime)
    }

    /// Works out what the job becomes, or all that is wrong with it.
    pub fn plan(self, facts: &ClusterFacts) -> Result<Plan, Problems> {
        self.decide(facts, false)
    }

    fn decide(self, facts: &ClusterFacts, traced: bool) -> Result<Plan, Problems> {
        let job = &canonical::of(self.job);
        let mut draft = Draft::new(job, &self.runtime, self.config, traced);
        draft.warnings.extend(canonical::warn_of_write_back(self.job));
        let settled = settle::settle(draft, &self.observed, facts)?;
        Ok(build::build(
            settled,
            &self.observed,
            facts,
            self.snapshot,
            &self.digest,
        ))
    }
}
