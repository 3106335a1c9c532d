//! Whether there is anything to do for a job, judged from what a watch already knows.

use jiff::Timestamp;

use super::observe::exceeded;
use crate::api::{JobSet, TrainJob};

/// How much is to be done for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing at all, not even its status: another controller takes care of it.
    Nothing,
    /// Its status follows the JobSet; nothing is built.
    Observe,
    /// Its objects are built or compared, then its status follows.
    Build,
}

/// Decides how much is to be done. `jobset` is the job's own; only its metadata and `suspend` are read.
///
/// A running JobSet of a running job is never touched, so neither runtime nor snapshot need to be read for it. A
/// job that has ended, is being deleted or has passed its deadline is never built again.
pub fn due(job: &TrainJob, jobset: Option<&JobSet>, now: Timestamp) -> Due {
    if !job.is_ours() {
        return Due::Nothing;
    }
    if job.metadata.deletion_timestamp.is_some() || job.finished() || exceeded(job, now) {
        return Due::Observe;
    }
    match jobset {
        None => Due::Build,
        Some(jobset) if jobset.metadata.deletion_timestamp.is_some() => Due::Observe,
        Some(jobset) if job.suspended() || jobset.suspended() => Due::Build,
        Some(_) => Due::Observe,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::status::fixtures::{job, jobset, time};

    fn check(job: serde_json::Value, jobset: Option<serde_json::Value>) -> Due {
        let job: TrainJob = serde_json::from_value(job).unwrap();
        let jobset = jobset.map(|j| serde_json::from_value::<JobSet>(j).unwrap());
        due(&job, jobset.as_ref(), time("2026-01-01T01:00:00Z"))
    }

    #[test]
    fn a_job_of_another_controller_is_left_alone() {
        let job = job(
            json!({"managedBy": "kueue.x-k8s.io/multikueue", "activeDeadlineSeconds": 1}),
            json!(null),
        );
        assert_eq!(check(job, None), Due::Nothing);
    }

    #[test]
    fn a_job_without_a_jobset_is_built() {
        assert_eq!(check(job(json!({}), json!(null)), None), Due::Build);
    }

    #[test]
    fn a_running_jobset_of_a_running_job_is_only_observed() {
        assert_eq!(
            check(job(json!({}), json!(null)), Some(jobset(json!(false), json!({})))),
            Due::Observe
        );
    }

    #[test]
    fn suspension_on_either_side_is_compared() {
        let suspended = job(json!({"suspend": true}), json!(null));
        assert_eq!(
            check(suspended, Some(jobset(json!(false), json!({})))),
            Due::Build
        );
        assert_eq!(
            check(job(json!({}), json!(null)), Some(jobset(json!(true), json!({})))),
            Due::Build
        );
    }

    #[test]
    fn a_finished_job_is_never_built_again() {
        for kind in ["Complete", "Failed"] {
            let status = json!({"conditions": [{"type": kind, "status": "True", "reason": "R", "message": "",
                "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
            assert_eq!(check(job(json!({}), status), None), Due::Observe);
        }
    }

    #[test]
    fn a_job_that_is_being_deleted_is_not_built() {
        let mut job = job(json!({}), json!(null));
        job["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:30:00Z");
        assert_eq!(check(job, None), Due::Observe);
    }

    #[test]
    fn a_job_past_its_deadline_is_not_built() {
        assert_eq!(
            check(job(json!({"activeDeadlineSeconds": 60}), json!(null)), None),
            Due::Observe
        );
        assert_eq!(
            check(job(json!({"activeDeadlineSeconds": 7200}), json!(null)), None),
            Due::Build
        );
    }

    #[test]
    fn a_jobset_on_its_way_out_is_waited_for() {
        let mut jobset = jobset(json!(true), json!({}));
        jobset["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:30:00Z");
        assert_eq!(check(job(json!({}), json!(null)), Some(jobset)), Due::Observe);
    }
}
