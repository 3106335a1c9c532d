//! A job's life on a real cluster: built, run, suspended, resumed, ended.

use serde_json::json;
use trainer::api::names::condition;

use crate::support::{Cluster, Controller};

#[tokio::test]
async fn a_job_runs_to_its_end_and_its_status_follows() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    cluster
        .create_runtime("plain", "sleep 1; echo node $JOB_COMPLETION_INDEX")
        .await;
    cluster
        .create_job("first", "plain", json!({"trainer": {"numNodes": 2}}))
        .await;

    let running = cluster
        .job_when("first", "runs", |j| jobs_status(j, "active") == Some(1))
        .await;
    assert!(
        running.status.unwrap().conditions.is_none(),
        "a job that runs has no conditions"
    );

    let jobset = cluster.jobset_when("first", "is there", |_| true).await;
    let owner = &jobset.metadata.owner_references.as_ref().unwrap()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.controller, owner.block_owner_deletion),
        ("TrainJob", Some(true), Some(true))
    );
    let managers: Vec<_> = jobset.metadata.managed_fields.as_ref().unwrap().iter().collect();
    assert!(
        managers
            .iter()
            .any(|m| m.manager.as_deref() == Some("trainer") && m.operation.as_deref() == Some("Update"))
    );
    let snapshot = cluster.snapshot("first").await.unwrap();
    assert_eq!(snapshot.metadata.owner_references.unwrap()[0].uid, owner.uid);

    let done = cluster
        .job_when("first", "is complete", |j| j.has(condition::COMPLETE))
        .await;
    let conditions = done.status.as_ref().unwrap().conditions.as_ref().unwrap();
    assert_eq!(conditions.len(), 1, "{conditions:?}");
    assert_eq!(conditions[0].reason, "AllJobsCompleted");
    let done = cluster
        .job_when("first", "counts it", |j| jobs_status(j, "succeeded") == Some(1))
        .await;
    let status = &done.status.unwrap().jobs_status.unwrap()[0];
    assert_eq!((status.active, status.failed, status.suspended), (0, 0, 0));
    let logs = cluster.logs("first").await;
    assert!(logs.contains("node 0") && logs.contains("node 1"), "{logs}");
    cluster.leave().await;
}

#[tokio::test]
async fn a_job_that_fails_is_failed_for_good() {
    let cluster = Cluster::take().await;
    let controller = Controller::start();
    cluster.create_runtime("plain", "exit 3").await;
    cluster.create_job("bad", "plain", json!({})).await;
    cluster
        .job_when("bad", "has failed", |j| j.has(condition::FAILED))
        .await;

    // Neither the end of its JobSet nor of the controller brings it back.
    cluster
        .jobsets()
        .delete("bad", &Default::default())
        .await
        .unwrap();
    drop(controller);
    let controller = Controller::start();
    controller.says("watching kind=TrainJob").await;
    cluster
        .create_job("marker", "plain", json!({"suspend": true}))
        .await;
    cluster.jobset_when("marker", "is there", |_| true).await;
    assert!(
        cluster.jobsets().get_opt("bad").await.unwrap().is_none(),
        "a failed job runs once"
    );
    cluster.leave().await;
}

#[tokio::test]
async fn a_suspended_job_holds_no_pods_and_resumes_with_the_patches_it_got_meanwhile() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    cluster.create_runtime("plain", "sleep 300").await;
    cluster
        .create_job("pause", "plain", json!({"suspend": true}))
        .await;
    cluster
        .job_when("pause", "is suspended", |j| j.has(condition::SUSPENDED))
        .await;
    let first = cluster
        .jobset_when("pause", "is suspended", trainer::api::JobSet::suspended)
        .await;

    // As Kueue does: the patch first, then the resume. Meanwhile the runtime changes, which is nothing to this job.
    cluster.create_runtime("plain", "echo other; exit 1").await;
    let patch = json!({"spec": {"runtimePatches": [{
        "manager": "kueue.x-k8s.io/manager",
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": {
            "metadata": {"labels": {"kueue.x-k8s.io/podset": "node"}},
            "spec": {"nodeSelector": {"kubernetes.io/os": "linux"}, "tolerations": [{"key": "a", "operator": "Exists"}]},
        }}}}]}}},
    }]}});
    cluster.patch_job("pause", patch).await;
    cluster
        .jobset_when("pause", "has the patch", |j| {
            pod_template(j)["spec"]["nodeSelector"]["kubernetes.io/os"] == "linux"
        })
        .await;
    cluster
        .patch_job("pause", json!({"spec": {"suspend": false}}))
        .await;
    let running = cluster
        .job_when("pause", "runs", |j| jobs_status(j, "ready") == Some(1))
        .await;
    let suspended = running.condition(condition::SUSPENDED).unwrap();
    assert_eq!(
        (suspended.status.as_str(), suspended.reason.as_str()),
        ("False", "Resumed")
    );
    let jobset = cluster.jobset_when("pause", "runs", |j| !j.suspended()).await;
    assert_eq!(
        jobset.metadata.uid, first.metadata.uid,
        "one JobSet in a job's life"
    );
    let template = pod_template(&jobset);
    assert_eq!(template["metadata"]["labels"]["kueue.x-k8s.io/podset"], "node");
    assert_eq!(
        template["spec"]["containers"][0]["command"][2], "sleep 300",
        "built from the runtime as it was"
    );

    cluster
        .patch_job("pause", json!({"spec": {"suspend": true}}))
        .await;
    let status = cluster.job_when("pause", "has no active Jobs", |j| {
        j.has(condition::SUSPENDED) && jobs_status(j, "active") == Some(0)
    });
    status.await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_job_that_runs_out_of_time_is_failed_and_its_jobset_goes() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    cluster.create_runtime("plain", "sleep 300").await;
    cluster
        .create_job("slow", "plain", json!({"activeDeadlineSeconds": 2}))
        .await;
    cluster.jobset_when("slow", "is there", |_| true).await;
    let failed = cluster
        .job_when("slow", "has failed", |j| j.has(condition::FAILED))
        .await;
    assert_eq!(
        failed.condition(condition::FAILED).unwrap().reason,
        condition::REASON_DEADLINE
    );
    crate::support::until("the JobSet is gone", async || {
        cluster
            .jobsets()
            .get_opt("slow")
            .await
            .unwrap()
            .is_none()
            .then_some(())
    })
    .await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_job_that_waits_for_its_runtime_runs_out_of_time_no_later_than_others() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    // By then the tries to build it are more than six seconds apart.
    cluster
        .create_job("waits", "nowhere", json!({"activeDeadlineSeconds": 8}))
        .await;
    let failed = cluster
        .job_when("waits", "has failed", |j| j.has(condition::FAILED))
        .await;
    let end = failed.condition(condition::FAILED).unwrap();
    assert_eq!(end.reason, condition::REASON_DEADLINE);
    assert!(failed.condition(condition::STALLED).is_none());
    let (start, end) = (
        failed.metadata.creation_timestamp.as_ref().unwrap().0,
        end.last_transition_time.0,
    );
    assert!(end.duration_since(start).as_secs() <= 10, "{start} to {end}");
    cluster.leave().await;
}

#[tokio::test]
async fn a_deleted_job_takes_everything_with_it() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    cluster.create_runtime("plain", "sleep 300").await;
    cluster.create_job("gone", "plain", json!({})).await;
    cluster.jobset_when("gone", "is there", |_| true).await;
    // No options, as the SDK does.
    cluster.jobs().delete("gone", &Default::default()).await.unwrap();
    crate::support::until("JobSet and snapshot are gone", async || {
        let jobset = cluster.jobsets().get_opt("gone").await.unwrap();
        (jobset.is_none() && cluster.snapshot("gone").await.is_none()).then_some(())
    })
    .await;
    cluster.leave().await;
}

fn jobs_status(job: &trainer::api::TrainJob, count: &str) -> Option<i32> {
    let status = job.status.as_ref()?.jobs_status.as_ref()?.first()?;
    Some(match count {
        "active" => status.active,
        "ready" => status.ready,
        _ => status.succeeded,
    })
}

fn pod_template(jobset: &trainer::api::JobSet) -> serde_json::Value {
    jobset.spec.value()["replicatedJobs"][0]["template"]["spec"]["template"].clone()
}
