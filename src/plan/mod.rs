//! Decides what a TrainJob becomes.
//!
//! Knows the job, its runtime and plain facts of the cluster. Deliberately knows no client, file, clock, environment
//! or randomness: the same inputs give the same plan, byte for byte, in the controller, the offline commands and
//! admission alike.
//!
//! The stages: resolve the runtime, patch it, settle counts and resources, the initializer section, the framework,
//! the trainer section, assemble. Each works on the one JobSet in the [`draft`].

mod accelerators;
mod assemble;
mod check;
mod counts;
mod draft;
mod existing;
mod frameworks;
mod gang;
mod inputs;
mod owner;
mod patches;
mod problem;
mod resolve;
mod resources;
pub mod runtime_rules;
mod sections;
pub mod suggest;
mod trace;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;

pub use inputs::{Inputs, Observed, Runtime, RuntimeKind};
pub use problem::{Problem, Problems, Reason};
pub use trace::{Entry, Stage, Trace};

use draft::Draft;

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
    build(inputs, false)
}

/// Does what [`plan`] does and tells why each value is what it is.
pub fn explain(inputs: &Inputs<'_>) -> Result<Plan, Problems> {
    build(inputs, true)
}

fn build(inputs: &Inputs<'_>, traced: bool) -> Result<Plan, Problems> {
    let job = inputs.job;
    let resolved = resolve::resolve(inputs)?;
    let mut draft = Draft::new(job, &resolved.runtime, traced);
    let framework = prepare(&mut draft, inputs.observed)?;

    draft.stage(&Stage::Counts, counts::write);
    draft.stage(&Stage::Resources, resources::merge);
    draft.stage(&Stage::Initializer, sections::initializer);
    if framework.follows_trainer_env() {
        draft.stage(&Stage::Trainer, sections::trainer_env);
    }
    draft.stage(
        &Stage::Framework {
            name: framework.name(),
        },
        |draft| framework.inject(draft),
    );
    draft.stage(&Stage::Trainer, sections::trainer);
    draft.stage(&Stage::Assemble, assemble::complete);

    let (object, warnings, trace) = draft.finish();
    let (action, frozen) = existing::reconcile(job, inputs.observed.jobset.as_ref(), &object);
    let jobset = PlannedJobSet {
        object,
        action,
        frozen,
    };
    Ok(Plan {
        snapshot: resolved.snapshot,
        jobset,
        warnings,
        trace,
    })
}

/// Checks everything, patches the template and settles the counts; what is wrong is told all at once.
fn prepare(
    draft: &mut Draft<'_>,
    observed: &Observed,
) -> Result<&'static dyn frameworks::Framework, Problems> {
    let mut problems = Problems::default();
    problems.extend(gang::check(draft.runtime.spec.pod_group_policy.as_ref()));
    patches::check(draft, &mut problems);
    let framework = match frameworks::of(draft.runtime.spec.ml_policy.as_ref()) {
        Ok(framework) => framework,
        Err(unsupported) => {
            problems.extend(unsupported);
            frameworks::none()
        }
    };
    check::before_patches(draft, framework, &mut problems);
    if problems.is_empty() {
        patches::apply(draft);
        check::warn(draft, framework);
    }
    counts::settle(draft);
    framework.check(draft, &mut problems);
    if let Some(jobset) = &observed.jobset {
        check::jobset_is_ours(draft.job, jobset, &mut problems);
    } else {
        check::names_fit(draft, &mut problems);
    }
    problems.into_result(framework)
}
