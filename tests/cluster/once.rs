//! A job runs once: what an earlier job, a stranger or a fault leaves behind is neither taken over nor run again.

use k8s_openapi::api::core::v1::{ConfigMap, ResourceQuota};
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, PropagationPolicy};
use serde_json::{Value, json};
use trainer::api::names::condition;
use trainer::api::{JobSet, TrainJob};

use crate::support::{Cluster, Controller, runtime, until};

#[tokio::test]
async fn a_job_that_is_created_again_does_not_take_over_the_jobset_of_the_former() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    cluster.create_runtime("plain", "echo ran").await;
    cluster.create_job("again", "plain", json!({})).await;
    let first = cluster
        .job_when("again", "is complete", |j| j.has(condition::COMPLETE))
        .await;
    hold(&cluster, "again", json!(["example.com/hold"])).await;
    cluster
        .jobs()
        .delete("again", &DeleteParams::background())
        .await
        .unwrap();
    until("the snapshot of the former job is gone", async || {
        cluster.snapshot("again").await.is_none().then_some(())
    })
    .await;

    cluster.create_job("again", "plain", json!({})).await;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    let waiting = cluster.jobs().get("again").await.unwrap();
    assert!(waiting.status.is_none(), "{:?}", waiting.status);

    hold(&cluster, "again", json!(null)).await;
    let second = cluster
        .job_when("again", "is complete after a run of its own", |j| {
            j.has(condition::COMPLETE)
        })
        .await;
    assert_ne!(first.uid(), second.uid());
    let jobset = cluster.jobsets().get("again").await.unwrap();
    assert!(second.controls(&jobset.metadata));
    assert_eq!(cluster.pods(Some("again")).await.len(), 1);
    cluster.leave().await;
}

/// Sets the finalizers of a JobSet.
async fn hold(cluster: &Cluster, jobset: &str, finalizers: Value) {
    let patch = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
    cluster
        .jobsets()
        .patch(jobset, &PatchParams::default(), &patch)
        .await
        .unwrap();
}

#[tokio::test]
async fn an_orphan_is_left_alone_until_it_is_deleted() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    cluster.create_runtime("plain", "sleep 300").await;
    cluster.create_job("left", "plain", json!({})).await;
    cluster.job_when("left", "runs", |j| active(j) == Some(1)).await;
    let orphan = DeleteParams {
        propagation_policy: Some(PropagationPolicy::Orphan),
        ..DeleteParams::default()
    };
    cluster.jobs().delete("left", &orphan).await.unwrap();
    let before = cluster
        .jobset_when("left", "has no owner", |j| j.owner_references().is_empty())
        .await;

    cluster
        .create_job("left", "plain", json!({"suspend": true}))
        .await;
    cluster.event("left", "does not belong to this TrainJob").await;
    let after = cluster.jobsets().get("left").await.unwrap();
    assert_eq!(before.metadata.generation, after.metadata.generation);
    assert!(after.owner_references().is_empty() && !after.suspended());

    cluster
        .jobsets()
        .delete("left", &DeleteParams::background())
        .await
        .unwrap();
    cluster
        .api::<ConfigMap>()
        .delete("left-runtime-snapshot", &DeleteParams::background())
        .await
        .unwrap();
    cluster
        .jobset_when("left", "is the new job's", JobSet::suspended)
        .await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_jobset_of_somebody_else_gets_no_write() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    let theirs = json!({
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "victim"},
        "spec": {"replicatedJobs": [{"name": "workers", "template": {"spec": {"template": {"spec": {
            "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "c", "image": "localhost/python:1", "command": ["sleep", "300"]}],
        }}}}}]},
    });
    let theirs: JobSet = serde_json::from_value(theirs).unwrap();
    cluster
        .jobsets()
        .create(&PostParams::default(), &theirs)
        .await
        .unwrap();
    let mut empty = runtime("empty", "");
    empty["spec"] = json!({"template": {"spec": {}}});
    cluster.apply_runtime(&empty).await;
    cluster
        .create_job("victim", "empty", json!({"suspend": true}))
        .await;
    cluster.event("victim", "does not belong to this TrainJob").await;
    let jobset = cluster.jobsets().get("victim").await.unwrap();
    assert!(jobset.owner_references().is_empty() && !jobset.suspended());
    let ours = jobset
        .managed_fields()
        .iter()
        .any(|m| m.manager.as_deref() == Some("trainer"));
    assert!(!ours, "{:?}", jobset.managed_fields());
    cluster.leave().await;
}

#[tokio::test]
async fn a_job_whose_jobset_went_while_nobody_looked_does_not_run_again() {
    let cluster = Cluster::take().await;
    let controller = Controller::start();
    let mut brief = runtime("brief", "sleep 5");
    brief["spec"]["template"]["spec"]["ttlSecondsAfterFinished"] = json!(1);
    cluster.apply_runtime(&brief).await;
    cluster.create_job("gone", "brief", json!({})).await;
    cluster.job_when("gone", "runs", |j| active(j) == Some(1)).await;
    controller.kill();
    until("the JobSet is gone", async || {
        cluster
            .jobsets()
            .get_opt("gone")
            .await
            .unwrap()
            .is_none()
            .then_some(())
    })
    .await;

    let _controller = Controller::start();
    let job = cluster
        .job_when("gone", "has failed", |j| j.has(condition::FAILED))
        .await;
    let failed = job.condition(condition::FAILED).unwrap();
    assert_eq!(failed.reason, condition::REASON_JOBSET_LOST);
    cluster.event("gone", "create a new TrainJob").await;
    cluster.has_no_jobsets().await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_running_jobset_that_is_deleted_by_hand_is_made_again_with_a_warning() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    cluster.create_runtime("plain", "sleep 300").await;
    cluster.create_job("hand", "plain", json!({})).await;
    cluster.job_when("hand", "runs", |j| active(j) == Some(1)).await;
    let first = cluster.jobsets().get("hand").await.unwrap().uid();
    cluster
        .jobsets()
        .delete("hand", &DeleteParams::background())
        .await
        .unwrap();
    cluster
        .jobset_when("hand", "is made again", |j| j.uid() != first)
        .await;
    cluster.event("hand", "deleted before it had ended").await;
    cluster.leave().await;
}

#[tokio::test]
async fn suspension_does_not_wait_for_side_objects() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    let mut mpi = runtime("mpi", "sleep 300");
    mpi["spec"]["mlPolicy"] = json!({"mpi": {}});
    let mut launcher = mpi["spec"]["template"]["spec"]["replicatedJobs"][0].clone();
    launcher["name"] = json!("launcher");
    let jobs = mpi["spec"]["template"]["spec"]["replicatedJobs"]
        .as_array_mut()
        .unwrap();
    jobs[0]["template"]["metadata"] = json!({});
    jobs.push(launcher);
    cluster.apply_runtime(&mpi).await;
    cluster.create_job("keys", "mpi", json!({})).await;
    cluster.job_when("keys", "runs", |j| active(j) == Some(1)).await;

    // The quota counts the key pair that is there, and refuses a second creation before its name is looked at.
    let quota: ResourceQuota = serde_json::from_value(json!({
        "metadata": {"name": "secrets"}, "spec": {"hard": {"count/secrets": "1"}},
    }))
    .unwrap();
    let quotas = cluster.api::<ResourceQuota>();
    quotas.create(&PostParams::default(), &quota).await.unwrap();
    until("the quota is used up", async || {
        let status = quotas.get("secrets").await.unwrap().status?;
        (status.used?.get("count/secrets")?.0 == "1").then_some(())
    })
    .await;
    cluster
        .patch_job("keys", json!({"spec": {"suspend": true}}))
        .await;
    cluster
        .jobset_when("keys", "is suspended", JobSet::suspended)
        .await;
    cluster
        .job_when("keys", "is suspended", |j| j.has(condition::SUSPENDED))
        .await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_forged_snapshot_is_not_run() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    cluster.create_job("plain", "ghost", json!({})).await;
    let job = cluster
        .job_when("plain", "waits", |j| j.has(condition::STALLED))
        .await;
    let mut forged = runtime("ghost", "echo forged");
    forged["metadata"]["namespace"] = json!(cluster.namespace);
    let forged: ConfigMap = serde_json::from_value(json!({
        "metadata": {"name": "plain-runtime-snapshot", "ownerReferences": [{
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "name": "plain", "uid": job.uid(),
            "controller": true,
        }]},
        "data": {"runtime": forged.to_string()},
    }))
    .unwrap();
    cluster
        .api::<ConfigMap>()
        .create(&PostParams::default(), &forged)
        .await
        .unwrap();
    cluster
        .patch_job("plain", json!({"metadata": {"labels": {"touched": "yes"}}}))
        .await;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    cluster.has_no_jobsets().await;

    cluster.create_runtime("ghost", "echo real").await;
    cluster
        .job_when("plain", "is complete", |j| j.has(condition::COMPLETE))
        .await;
    let log = cluster.logs("plain").await;
    assert!(log.contains("real") && !log.contains("forged"), "{log}");
    let snapshot = cluster.snapshot("plain").await.unwrap();
    assert!(snapshot.data.unwrap()["runtime"].contains("echo real"));
    cluster.leave().await;
}

fn active(job: &TrainJob) -> Option<i32> {
    Some(
        job.status
            .as_ref()?
            .jobs_status
            .as_ref()?
            .iter()
            .map(|counts| counts.active)
            .sum::<i32>()
            .min(1),
    )
}
