//! Whether there is anything to do for a job, judged from what a watch already knows.

use jiff::Timestamp;

use super::observe::{ended, exceeded};
use crate::api::{JobSet, TrainJob};

/// How much is to be done for a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing at all, not even its status: another controller takes care of it.
    Nothing,
    /// Its status follows the JobSet; nothing is built.
    Observe,
    /// Its JobSet is suspended before anything else is looked at, then its status follows.
    Suspend,
    /// Its objects are built or compared, then its status follows.
    Build,
    /// Its JobSet is gone, and nobody saw whether it had ended: it may have, so the job does not run again.
    Lost,
}

/// Decides how much is to be done. `jobset` is the job's own, `deleted` the last state of one that was seen to be deleted;
/// of both only metadata, `suspend` and status are read.
///
/// A running JobSet of a running job is never touched, so neither runtime nor snapshot need to be read for it. A
/// job that has ended, is being deleted or has passed its deadline is never built again. A job whose status counts Jobs had
/// a JobSet; once that is gone, another one is only made if it was seen to be deleted before its end.
pub fn due(job: &TrainJob, jobset: Option<&JobSet>, deleted: Option<&JobSet>, now: Timestamp) -> Due {
    if !job.is_ours() {
        return Due::Nothing;
    }
    if job.metadata.deletion_timestamp.is_some() || job.finished() || exceeded(job, now) {
        return Due::Observe;
    }
    match jobset {
        None if deleted.is_some_and(ended) => Due::Observe,
        None if had_jobs(job) && deleted.is_none() => Due::Lost,
        None => Due::Build,
        Some(jobset) if ended(jobset) || jobset.metadata.deletion_timestamp.is_some() => Due::Observe,
        Some(jobset) if job.suspended() && !jobset.suspended() => Due::Suspend,
        Some(jobset) if job.suspended() || jobset.suspended() => Due::Build,
        Some(_) => Due::Observe,
    }
}

/// Reports whether the status of a job shows that it had a JobSet.
fn had_jobs(job: &TrainJob) -> bool {
    job.status
        .as_ref()
        .and_then(|status| status.jobs_status.as_ref())
        .is_some_and(|jobs| !jobs.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::status::fixtures::{condition, counts, job, jobset, time};

    fn check(job: serde_json::Value, jobset: Option<serde_json::Value>) -> Due {
        let job: TrainJob = serde_json::from_value(job).unwrap();
        let jobset = jobset.map(|j| serde_json::from_value::<JobSet>(j).unwrap());
        due(&job, jobset.as_ref(), None, time("2026-01-01T01:00:00Z"))
    }

    /// A job whose status counts Jobs and that has no JobSet any more; `deleted` is the last state that was seen.
    fn check_gone(deleted: Option<serde_json::Value>) -> Due {
        let job = job(json!({}), json!({"jobsStatus": [counts("node", 1, 0)]}));
        let job: TrainJob = serde_json::from_value(job).unwrap();
        let deleted = deleted.map(|j| serde_json::from_value::<JobSet>(j).unwrap());
        due(&job, None, deleted.as_ref(), time("2026-01-01T01:00:00Z"))
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
            check(suspended.clone(), Some(jobset(json!(false), json!({})))),
            Due::Suspend
        );
        assert_eq!(check(suspended, Some(jobset(json!(true), json!({})))), Due::Build);
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
    fn a_jobset_that_went_while_nobody_looked_is_not_made_again() {
        assert_eq!(check_gone(None), Due::Lost);
    }

    #[test]
    fn a_jobset_that_was_deleted_before_its_end_is_made_again() {
        assert_eq!(check_gone(Some(jobset(json!(false), json!({})))), Due::Build);
    }

    #[test]
    fn the_end_of_a_jobset_counts_although_it_is_deleted() {
        for kind in ["Completed", "Failed"] {
            let end = json!({"conditions": [condition(kind, "True", "R", "", "2026-01-01T00:00:00Z")]});
            assert_eq!(check_gone(Some(jobset(json!(false), end))), Due::Observe);
        }
    }

    #[test]
    fn a_jobset_that_has_ended_is_not_suspended() {
        let end = json!({"conditions": [condition("Completed", "True", "R", "", "2026-01-01T00:00:00Z")]});
        let suspended = job(json!({"suspend": true}), json!(null));
        assert_eq!(check(suspended, Some(jobset(json!(false), end))), Due::Observe);
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
