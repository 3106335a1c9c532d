use serde_json::{Value, json};

use super::*;
use crate::status::fixtures::{condition, counts, job, jobset, time};

const NOW: &str = "2026-01-01T01:00:00Z";

fn check(job: Value, jobset: Option<Value>, build: Build<'_>) -> Outcome {
    let job: TrainJob = serde_json::from_value(job).unwrap();
    let jobset: Option<JobSet> = jobset.map(|j| serde_json::from_value(j).unwrap());
    observe(&StatusInputs {
        job: &job,
        jobset: jobset.as_ref(),
        build,
        now: time(NOW),
    })
}

fn nothing() -> Outcome {
    Outcome::default()
}

fn writes(status: Value) -> Outcome {
    Outcome {
        patch: Some(json!({ "status": status })),
        ..Outcome::default()
    }
}

fn stalled(message: &str) -> Value {
    condition(
        "Stalled",
        "True",
        "TrainJobResourcesCreationFailed",
        message,
        "2026-01-01T00:30:00Z",
    )
}

#[test]
fn a_job_whose_jobset_has_no_status_yet_gets_none() {
    assert_eq!(
        check(
            job(json!({}), json!(null)),
            Some(jobset(json!(false), json!(null))),
            Build::Done
        ),
        nothing()
    );
}

#[test]
fn counts_are_copied_with_all_their_zeros() {
    let set = jobset(
        json!(false),
        json!({"replicatedJobsStatus": [counts("node", 1, 0)]}),
    );
    let expected = json!({"jobsStatus": [{"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}]});
    assert_eq!(
        check(job(json!({}), json!(null)), Some(set), Build::Skipped),
        writes(expected)
    );
}

#[test]
fn nothing_is_written_when_nothing_changed() {
    let status = json!({"jobsStatus": [counts("node", 1, 0)]});
    let set = jobset(
        json!(false),
        json!({"replicatedJobsStatus": [counts("node", 1, 0)]}),
    );
    assert_eq!(
        check(job(json!({}), status), Some(set), Build::Skipped),
        nothing()
    );
}

#[test]
fn what_the_program_reported_is_never_named() {
    let status = json!({"trainerStatus": {"progressPercentage": 5}});
    let set = jobset(
        json!(false),
        json!({"replicatedJobsStatus": [counts("node", 1, 0)]}),
    );
    assert_eq!(
        check(job(json!({}), status), Some(set), Build::Skipped),
        writes(json!({"jobsStatus": [counts("node", 1, 0)]}))
    );
}

#[test]
fn a_job_is_not_suspended_before_its_jobset() {
    let suspended = job(json!({"suspend": true}), json!(null));
    let running = Some(jobset(json!(false), json!({})));
    assert_eq!(check(suspended, running, Build::Failed("quota")).patch, None);
}

#[test]
fn a_suspended_job_says_so() {
    assert_eq!(
        check(job(json!({"suspend": true}), json!(null)), None, Build::Done),
        writes(
            json!({"conditions": [condition("Suspended", "True", "Suspended", "TrainJob is suspended", NOW)]})
        )
    );
}

#[test]
fn a_resumed_job_says_so() {
    let was = condition(
        "Suspended",
        "True",
        "Suspended",
        "TrainJob is suspended",
        "2026-01-01T00:10:00Z",
    );
    assert_eq!(
        check(
            job(json!({}), json!({"conditions": [was]})),
            Some(jobset(json!(false), json!(null))),
            Build::Done
        ),
        writes(
            json!({"conditions": [condition("Suspended", "False", "Resumed", "TrainJob is resumed", NOW)]})
        )
    );
}

#[test]
fn the_end_of_a_jobset_is_copied_whole() {
    for (theirs, ours) in [("Completed", "Complete"), ("Failed", "Failed")] {
        let mut last = condition(
            theirs,
            "True",
            "TheirReason",
            "their words",
            "2026-01-01T00:59:00Z",
        );
        last["observedGeneration"] = json!(3);
        let set = jobset(json!(false), json!({"conditions": [last.clone()]}));
        last["type"] = json!(ours);
        assert_eq!(
            check(job(json!({}), json!(null)), Some(set), Build::Skipped),
            writes(json!({"conditions": [last]}))
        );
    }
}

#[test]
fn conditions_of_a_jobset_that_are_false_or_others_are_not_copied() {
    let set = jobset(
        json!(false),
        json!({"conditions": [
            condition("Completed", "False", "R", "", NOW),
            condition("StartupPolicyInProgress", "True", "R", "", NOW),
        ]}),
    );
    assert_eq!(
        check(job(json!({}), json!(null)), Some(set), Build::Skipped),
        nothing()
    );
}

#[test]
fn the_end_comes_after_the_suspension() {
    let resumed = condition(
        "Suspended",
        "False",
        "Resumed",
        "TrainJob is resumed",
        "2026-01-01T00:10:00Z",
    );
    let set = jobset(
        json!(false),
        json!({"conditions": [condition("Completed", "True", "R", "", NOW)]}),
    );
    assert_eq!(
        check(
            job(json!({}), json!({"conditions": [resumed.clone()]})),
            Some(set),
            Build::Skipped
        ),
        writes(json!({"conditions": [resumed, condition("Complete", "True", "R", "", NOW)]}))
    );
}

#[test]
fn complete_and_failed_are_final() {
    let done = json!({"conditions": [condition("Complete", "True", "R", "", "2026-01-01T00:10:00Z")]});
    let set = jobset(
        json!(false),
        json!({"conditions": [condition("Failed", "True", "R", "", NOW)]}),
    );
    let spec = json!({"activeDeadlineSeconds": 1, "suspend": true});
    assert_eq!(
        check(job(spec.clone(), done.clone()), Some(set), Build::Skipped),
        nothing()
    );
    assert_eq!(check(job(spec, done), None, Build::Skipped), nothing());
}

#[test]
fn counts_follow_after_the_end() {
    let done = condition("Complete", "True", "R", "", "2026-01-01T00:10:00Z");
    let status = json!({"conditions": [done], "jobsStatus": [counts("node", 1, 0)]});
    let set = jobset(
        json!(false),
        json!({"replicatedJobsStatus": [counts("node", 0, 1)]}),
    );
    assert_eq!(
        check(job(json!({}), status), Some(set), Build::Skipped),
        writes(json!({"jobsStatus": [counts("node", 0, 1)]}))
    );
}

#[test]
fn counts_stay_when_the_jobset_is_gone() {
    let done = condition("Complete", "True", "R", "", "2026-01-01T00:10:00Z");
    let status = json!({"conditions": [done], "jobsStatus": [counts("node", 0, 1)]});
    assert_eq!(check(job(json!({}), status), None, Build::Skipped), nothing());
}

#[test]
fn a_job_that_cannot_be_built_is_stalled() {
    let mut expected = stalled("spec.runtimeRef: no such runtime");
    expected["lastTransitionTime"] = json!(NOW);
    assert_eq!(
        check(
            job(json!({}), json!(null)),
            None,
            Build::Failed("spec.runtimeRef: no such runtime")
        ),
        writes(json!({"conditions": [expected]}))
    );
}

#[test]
fn a_job_stalled_for_another_reason_keeps_its_time() {
    let status = json!({"conditions": [stalled("one")]});
    assert_eq!(
        check(job(json!({}), status), None, Build::Failed("two")),
        writes(json!({"conditions": [stalled("two")]}))
    );
}

#[test]
fn a_failure_that_says_nothing_about_the_job_leaves_it_stalled() {
    let status = json!({"conditions": [stalled("one")]});
    assert_eq!(check(job(json!({}), status), None, Build::Skipped), nothing());
}

#[test]
fn a_stall_leaves_no_trace_once_there_is_a_jobset() {
    let status = json!({"conditions": [stalled("one")]});
    let set = || Some(jobset(json!(false), json!(null)));
    assert_eq!(
        check(job(json!({}), status), set(), Build::Done),
        Outcome {
            patch: Some(json!({"status": null})),
            ..nothing()
        }
    );
    let status = json!({"conditions": [stalled("one")], "trainerStatus": {"progressPercentage": 5}});
    assert_eq!(
        check(job(json!({}), status), set(), Build::Done),
        writes(json!({"conditions": null}))
    );
}

#[test]
fn a_failed_change_of_an_existing_jobset_is_no_stall() {
    let set = jobset(json!(true), json!(null));
    assert_eq!(
        check(job(json!({}), json!(null)), Some(set), Build::Failed("refused")),
        nothing()
    );
}

#[test]
fn an_unknown_kind_of_runtime_fails_the_job_for_good() {
    let failed = condition(
        "Failed",
        "True",
        "TrainingRuntimeNotSupported",
        "no kind Foo",
        NOW,
    );
    assert_eq!(
        check(
            job(json!({}), json!({"conditions": [stalled("one")]})),
            None,
            Build::Impossible {
                reason: "TrainingRuntimeNotSupported",
                message: "no kind Foo",
            }
        ),
        writes(json!({"conditions": [failed]}))
    );
}

#[test]
fn a_deadline_ahead_is_waited_for() {
    let outcome = check(
        job(json!({"activeDeadlineSeconds": 3660}), json!(null)),
        None,
        Build::Skipped,
    );
    assert_eq!(
        outcome,
        Outcome {
            look_again: Some(Duration::from_millis(60_010)),
            ..nothing()
        }
    );
}

#[test]
fn a_deadline_just_now_is_looked_at_in_a_second() {
    let outcome = check(
        job(json!({"activeDeadlineSeconds": 3600}), json!(null)),
        None,
        Build::Skipped,
    );
    assert_eq!(
        outcome,
        Outcome {
            look_again: Some(Duration::from_secs(1)),
            ..nothing()
        }
    );
}

#[test]
fn a_job_past_its_deadline_fails_and_loses_its_jobset() {
    let failed = condition(
        "Failed",
        "True",
        "DeadlineExceeded",
        "TrainJob exceeded its active deadline",
        NOW,
    );
    let set = jobset(json!(false), json!(null));
    let outcome = check(
        job(json!({"activeDeadlineSeconds": 60}), json!(null)),
        Some(set),
        Build::Skipped,
    );
    assert_eq!(
        outcome,
        Outcome {
            delete_jobset: true,
            ..writes(json!({"conditions": [failed]}))
        }
    );
}

#[test]
fn the_jobset_of_an_expired_job_is_deleted_until_it_goes() {
    let failed = condition(
        "Failed",
        "True",
        "DeadlineExceeded",
        "TrainJob exceeded its active deadline",
        "2026-01-01T00:02:00Z",
    );
    let expired = || {
        job(
            json!({"activeDeadlineSeconds": 60}),
            json!({"conditions": [failed.clone()]}),
        )
    };
    let mut set = jobset(json!(false), json!(null));
    assert_eq!(
        check(expired(), Some(set.clone()), Build::Skipped),
        Outcome {
            delete_jobset: true,
            ..nothing()
        }
    );
    set["metadata"]["deletionTimestamp"] = json!(NOW);
    assert_eq!(check(expired(), Some(set), Build::Skipped), nothing());
    assert_eq!(check(expired(), None, Build::Skipped), nothing());
}

#[test]
fn an_end_seen_together_with_the_deadline_is_the_jobsets() {
    let set = jobset(
        json!(false),
        json!({"conditions": [condition("Completed", "True", "R", "", NOW)]}),
    );
    assert_eq!(
        check(
            job(json!({"activeDeadlineSeconds": 60}), json!(null)),
            Some(set),
            Build::Skipped
        ),
        writes(json!({"conditions": [condition("Complete", "True", "R", "", NOW)]}))
    );
}

#[test]
fn time_spent_suspended_does_not_count() {
    let suspended = condition(
        "Suspended",
        "True",
        "Suspended",
        "TrainJob is suspended",
        "2026-01-01T00:00:00Z",
    );
    let paused = job(
        json!({"activeDeadlineSeconds": 60, "suspend": true}),
        json!({"conditions": [suspended]}),
    );
    assert_eq!(check(paused, None, Build::Done), nothing());

    let resumed = condition(
        "Suspended",
        "False",
        "Resumed",
        "TrainJob is resumed",
        "2026-01-01T00:59:30Z",
    );
    let again = job(
        json!({"activeDeadlineSeconds": 60}),
        json!({"conditions": [resumed]}),
    );
    let outcome = check(again, None, Build::Skipped);
    assert_eq!(
        outcome,
        Outcome {
            look_again: Some(Duration::from_millis(30_010)),
            ..nothing()
        }
    );
}

#[test]
fn a_limit_beyond_the_end_of_time_is_none() {
    let outcome = check(
        job(json!({"activeDeadlineSeconds": i64::MAX}), json!(null)),
        None,
        Build::Skipped,
    );
    assert_eq!(outcome, nothing());
}
