//! Judges a TrainJob.

use serde_json::Value;

use super::{Operation, Verdict, patches};
use crate::api::TrainJob;
use crate::plan::{self, Inputs, Observed, Problems, Reason, Runtime};

/// A TrainJob that is created or changed.
#[derive(Debug)]
pub struct TrainJobRequest<'a> {
    /// What is done.
    pub operation: Operation<'a, TrainJob>,
    /// The job as it would be stored.
    pub job: &'a TrainJob,
    /// The runtime that it names, read live; `None` when it does not exist.
    pub runtime: Option<&'a Runtime>,
    /// Facts of the cluster. The JobSet and the snapshot matter to changes only.
    pub observed: &'a Observed,
}

/// Judges a TrainJob.
///
/// A job that is being deleted passes, and so does a change that leaves the spec as it is or only suspends or
/// resumes the job: neither the runtime nor any rule may keep them from ending.
pub fn train_job(request: &TrainJobRequest<'_>) -> Verdict {
    match request.operation {
        Operation::Create => create(request),
        Operation::Update(old) => update(request, old),
    }
}

fn create(request: &TrainJobRequest<'_>) -> Verdict {
    let observed = Observed {
        jobset: None,
        snapshot: None,
    };
    let (problems, warnings) = planned(request, &observed);
    Verdict { problems, warnings }
}

fn update(request: &TrainJobRequest<'_>, old: &TrainJob) -> Verdict {
    if request.job.metadata.deletion_timestamp.is_some() || same_but_for_suspension(old, request.job) {
        return Verdict::default();
    }
    let observed = Observed {
        jobset: None,
        snapshot: request
            .observed
            .snapshot
            .clone()
            .filter(|snapshot| patches::belongs_to(snapshot, request.job)),
    };
    let (found, warnings) = planned(request, &observed);
    let mut problems = Problems::default();
    problems.extend(patches::check_change(
        old,
        request.job,
        request.observed.jobset.as_ref(),
    ));
    problems.extend(found.into_iter().filter(|problem| !settled_at_creation(problem)));
    Verdict { problems, warnings }
}

/// Tells whether a problem may only keep a job from being created: its name, and a runtime that has gone since.
fn settled_at_creation(problem: &plan::Problem) -> bool {
    problem.field.as_str() == "metadata.name" || problem.reason == Reason::RuntimeNotFound
}

fn planned(request: &TrainJobRequest<'_>, observed: &Observed) -> (Problems, Vec<String>) {
    let inputs = Inputs {
        job: request.job,
        runtime: request.runtime,
        observed,
    };
    match plan::plan(&inputs) {
        Ok(plan) => (Problems::default(), plan.warnings),
        Err(problems) => (problems, Vec::new()),
    }
}

fn same_but_for_suspension(old: &TrainJob, new: &TrainJob) -> bool {
    let spec = |job: &TrainJob| {
        let mut spec = serde_json::to_value(&job.spec).unwrap_or_default();
        if let Some(fields) = spec.as_object_mut() {
            fields.remove("suspend");
        }
        spec
    };
    let (old, new) = (spec(old), spec(new));
    old == new && old != Value::Null
}
