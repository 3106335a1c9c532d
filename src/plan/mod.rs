//! Decides what a TrainJob becomes.
//!
//! Knows the job, its runtime and plain facts of the cluster. Deliberately knows no client, file, clock, environment
//! or randomness: the same inputs give the same plan, byte for byte, in the controller, the offline commands and
//! admission alike.
//!
//! The stages: resolve the runtime, patch it, settle counts and resources, the initializer section, the trainer section
//! around the framework, the gang, assemble. Each works on the one JobSet in the [`draft`].

mod accelerators;
mod assemble;
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
mod inputs;
mod kueue;
mod named_jobs;
mod node_groups;
mod owner;
mod patches;
mod replicated_job;
mod resolve;
mod resources;
mod roles;
pub mod runtime_rules;
mod secrets;
mod sections;
mod trace;
mod warnings;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::Value;

pub use existing::JobSetAction;
pub use facts::{Needed, needed};
pub use gang::{Gang, GangObject, Member, Served};
pub use inputs::{Config, Inputs, Known, Observed, Runtime, RuntimeKind};
pub use secrets::{NewSecret, Recipe};
pub use trace::{Entry, Stage, Trace};

use crate::k8s::path::FieldPath;
use crate::k8s::problem::Problems;
use draft::{Draft, Finished};
use framework::Framework;

/// What the author of a job must know when its JobSet is created a second time.
const MADE_AGAIN: &str = "the JobSet was deleted before it had ended and is created again: training starts from its \
                          beginning, or from its last checkpoint";

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
    pub frozen: Vec<FieldPath>,
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
    let write_back = canonical::warn_of_write_back(inputs.job);
    let job = &canonical::of(inputs.job);
    let inputs = &Inputs { job, ..*inputs };
    let resolved = resolve::resolve(inputs)?;
    let mut draft = Draft::new(job, &resolved.runtime, inputs.config, traced);
    let framework = prepare(&mut draft, inputs.observed)?;

    draft.stage(&Stage::Initializer, sections::initializer);
    draft.stage(&Stage::Trainer, |draft| sections::program(draft, framework));
    if framework.follows_trainer_env() {
        draft.stage(&Stage::Trainer, |draft| sections::trainer_env(draft, framework));
    }
    draft.stage(
        &Stage::Framework {
            name: framework.name(),
        },
        |draft| framework.inject(draft),
    );
    draft.stage(&Stage::Trainer, |draft| sections::trainer_env(draft, framework));
    let scheduler = gang::of(resolved.runtime.spec.pod_group_policy.as_ref());
    let (gang, gang_objects) = scheduler
        .and_then(|scheduler| gang::place(&mut draft, scheduler, framework, inputs.observed))
        .unzip();
    draft.stage(&Stage::Assemble, |draft| {
        assemble::complete(draft, &resolved.digest);
    });
    if inputs.observed.jobset.is_none() && inputs.observed.deleted.is_some() {
        draft.warnings.push(MADE_AGAIN.to_owned());
    }

    let Finished {
        jobset: object,
        secrets,
        config_maps,
        warnings,
        trace,
    } = draft.finish();
    let (action, frozen) = existing::reconcile(job, inputs.observed.jobset.as_ref(), &object);
    let jobset = PlannedJobSet {
        object,
        action,
        frozen,
    };
    Ok(Plan {
        secrets,
        snapshot: resolved.snapshot,
        config_maps,
        gang_objects: gang_objects.unwrap_or_default(),
        gang,
        jobset,
        warnings: match inputs.observed.jobset {
            None => write_back.into_iter().chain(warnings).collect(),
            Some(_) => Vec::new(),
        },
        trace,
    })
}

/// Checks everything, patches the template and settles counts and resources; what is wrong is told all at once.
fn prepare<'a>(draft: &mut Draft<'a>, observed: &Observed) -> Result<&'a dyn Framework, Problems> {
    let mut problems = Problems::default();
    patches::check(draft, &mut problems);
    let framework = frameworks::of(draft.runtime);
    check::before_patches(draft, framework, &mut problems);
    if problems.is_empty() {
        patches::apply(draft);
        draft.warnings.extend(warnings::of(draft, framework));
    }
    framework.settle_counts(draft);
    if !check::counts_are_bounded(draft, &mut problems) {
        return Err(problems);
    }
    draft.stage(&Stage::Counts, |draft| counts::write(draft));
    draft.stage(&Stage::Resources, |draft| resources::merge(draft, framework));
    framework.check(draft, &mut problems);
    if let Some(scheduler) = gang::of(draft.runtime.spec.pod_group_policy.as_ref()) {
        gang::check(draft, scheduler, framework, observed, &mut problems);
    }
    if problems.is_empty() {
        draft.warnings.extend(kueue::warnings(draft, framework));
    }
    if let Some(jobset) = &observed.jobset {
        check::jobset_is_ours(draft.job, jobset, &mut problems);
    } else {
        check::names_fit(draft, &mut problems);
    }
    problems.into_result(framework)
}
