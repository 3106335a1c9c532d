//! The status of a job, worked out from its JobSet and how its build went.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use serde_json::{Map, Value, json};

use super::conditions::{condition, find, is_true, remove, set};
use crate::api::names::condition as names;
use crate::api::trainjob::JobStatus;
use crate::api::{JobSet, TrainJob};

/// All that [`observe`] looks at.
#[derive(Clone, Copy, Debug)]
pub struct StatusInputs<'a> {
    /// The job as it was read.
    pub job: &'a TrainJob,
    /// The job's own JobSet, if there is one.
    pub jobset: Option<&'a JobSet>,
    /// How the build of the job's objects went.
    pub build: Build<'a>,
    /// The time.
    pub now: Timestamp,
}

/// How the build of a job's objects went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build<'a> {
    /// Nothing was built, or it failed in a way that says nothing about the job; what is known stays.
    Skipped,
    /// All objects are as they should be.
    Done,
    /// The objects could not be made, for this reason; it may still come right.
    Failed(&'a str),
    /// The job can never be built.
    Impossible {
        /// Reason of the condition `Failed`.
        reason: &'static str,
        /// Its message.
        message: &'a str,
    },
}

/// What is to be done about a job's status.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// A JSON merge patch for the status subresource with what changed; lists are whole, `trainerStatus` is never
    /// named. `None` when nothing changed.
    pub patch: Option<Value>,
    /// When the job must be looked at again although nothing changes.
    pub look_again: Option<Duration>,
    /// Whether the JobSet must be deleted.
    pub delete_jobset: bool,
}

/// Works out the status of a job.
///
/// `Complete` and `Failed` are final: once one of them is True only the counts of Jobs follow. Conditions are kept
/// in order of first appearance, and a job that was never suspended and runs has none, since the Kubeflow SDK reads
/// any condition as "not running".
pub fn observe(inputs: &StatusInputs<'_>) -> Outcome {
    let job = inputs.job;
    let mut conditions = current_conditions(job).to_vec();
    if !job.finished() {
        suspension(&mut conditions, inputs);
        end(&mut conditions, inputs);
    }
    stall(&mut conditions, inputs);

    let deadline = deadline(job, &conditions).filter(|_| !finished(&conditions));
    let expired = find(&conditions, names::FAILED)
        .is_some_and(|c| c.status == "True" && c.reason == names::REASON_DEADLINE);
    Outcome {
        patch: patch(job, &conditions, inputs.jobset),
        look_again: deadline.map(|at| until(inputs.now, at)),
        delete_jobset: expired
            && inputs
                .jobset
                .is_some_and(|j| j.metadata.deletion_timestamp.is_none()),
    }
}

/// Reports whether a job has used up its time.
pub(super) fn exceeded(job: &TrainJob, now: Timestamp) -> bool {
    deadline(job, current_conditions(job)).is_some_and(|at| now > at)
}

fn current_conditions(job: &TrainJob) -> &[Condition] {
    job.status
        .as_ref()
        .and_then(|s| s.conditions.as_deref())
        .unwrap_or_default()
}

fn finished(conditions: &[Condition]) -> bool {
    is_true(conditions, names::COMPLETE) || is_true(conditions, names::FAILED)
}

/// Follows `spec.suspend`; a job whose JobSet still runs is not suspended.
fn suspension(conditions: &mut Vec<Condition>, inputs: &StatusInputs<'_>) {
    let (job, now) = (inputs.job, inputs.now);
    if job.suspended() {
        if inputs.jobset.is_some_and(|jobset| !jobset.suspended()) {
            return;
        }
        let text = names::MESSAGE_SUSPENDED;
        set(
            conditions,
            condition(names::SUSPENDED, true, names::REASON_SUSPENDED, text, now),
        );
    } else if is_true(conditions, names::SUSPENDED) {
        let text = names::MESSAGE_RESUMED;
        set(
            conditions,
            condition(names::SUSPENDED, false, names::REASON_RESUMED, text, now),
        );
    }
}

/// Ends the job when it cannot be built, when its JobSet has ended, or else when its time is up.
fn end(conditions: &mut Vec<Condition>, inputs: &StatusInputs<'_>) {
    if let Build::Impossible { reason, message } = inputs.build {
        set(
            conditions,
            condition(names::FAILED, true, reason, message, inputs.now),
        );
    } else if let Some(last) = inputs.jobset.and_then(last_condition) {
        set(conditions, last);
    } else if deadline(inputs.job, conditions).is_some_and(|at| inputs.now > at) {
        let (reason, text) = (names::REASON_DEADLINE, names::MESSAGE_DEADLINE);
        set(
            conditions,
            condition(names::FAILED, true, reason, text, inputs.now),
        );
    }
}

/// Reports whether a JobSet has ended, well or not.
pub(super) fn ended(jobset: &JobSet) -> bool {
    last_condition(jobset).is_some()
}

/// Translates the condition that ended a JobSet; reason, message and time are the JobSet's.
fn last_condition(jobset: &JobSet) -> Option<Condition> {
    let conditions = &jobset.status.as_ref()?.conditions;
    [("Completed", names::COMPLETE), ("Failed", names::FAILED)]
        .into_iter()
        .find(|(theirs, _)| is_true(conditions, theirs))
        .and_then(|(theirs, ours)| {
            let mut last = find(conditions, theirs)?.clone();
            ours.clone_into(&mut last.type_);
            Some(last)
        })
}

/// Sets `Stalled` while there is no JobSet; removes it once there is one or the job has ended.
fn stall(conditions: &mut Vec<Condition>, inputs: &StatusInputs<'_>) {
    if inputs.jobset.is_some() || finished(conditions) || inputs.build == Build::Done {
        remove(conditions, names::STALLED);
    } else if let Build::Failed(why) = inputs.build {
        set(
            conditions,
            condition(names::STALLED, true, names::REASON_RESOURCES, why, inputs.now),
        );
    }
}

/// When the time of a job is up: counted from its last resume, else from its creation. `None` while it is
/// suspended, and without a limit.
fn deadline(job: &TrainJob, conditions: &[Condition]) -> Option<Timestamp> {
    let seconds = job.spec.active_deadline_seconds.filter(|s| *s > 0)?;
    if job.suspended() {
        return None;
    }
    let start = find(conditions, names::SUSPENDED)
        .filter(|c| c.status == "False")
        .map(|c| &c.last_transition_time)
        .or(job.metadata.creation_timestamp.as_ref())?;
    start.0.checked_add(SignedDuration::from_secs(seconds)).ok()
}

/// The time from `now` to `at`, at least a second, as the deadline itself has not passed yet at `at`.
fn until(now: Timestamp, at: Timestamp) -> Duration {
    Duration::try_from(at.duration_since(now))
        .unwrap_or_default()
        .saturating_add(Duration::from_millis(10))
        .max(Duration::from_secs(1))
}

/// Returns the difference between the status that was read and the one that should be.
///
/// The API server refuses an empty status, so a status of which nothing is left is taken away as a whole.
fn patch(job: &TrainJob, conditions: &[Condition], jobset: Option<&JobSet>) -> Option<Value> {
    let old = job.status.clone().unwrap_or_default();
    let old_jobs = old.jobs_status.as_deref().unwrap_or_default();
    let jobs = jobset.map_or(old_jobs, jobs_status);

    let mut changes = Map::new();
    if conditions != current_conditions(job) {
        changes.insert("conditions".to_owned(), list(conditions));
    }
    if jobs != old_jobs {
        changes.insert("jobsStatus".to_owned(), list(jobs));
    }
    if changes.is_empty() {
        return None;
    }
    let empty = conditions.is_empty() && jobs.is_empty() && old.trainer_status.is_none();
    Some(json!({"status": if empty { Value::Null } else { Value::Object(changes) }}))
}

fn jobs_status(jobset: &JobSet) -> &[JobStatus] {
    jobset
        .status
        .as_ref()
        .map(|s| s.replicated_jobs_status.as_slice())
        .unwrap_or_default()
}

/// Writes a list for a merge patch, where `null` removes the key.
fn list<T: serde::Serialize>(items: &[T]) -> Value {
    if items.is_empty() {
        Value::Null
    } else {
        json!(items)
    }
}

#[cfg(test)]
#[path = "observe_tests.rs"]
mod tests;
