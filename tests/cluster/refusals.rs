//! What must not be built, is not built; and what is someone else's is left alone.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};
use trainer::api::TrainingRuntime;
use trainer::api::names::condition;

use crate::support::{Cluster, Controller, kubectl, runtime};

#[tokio::test]
async fn a_runtime_may_come_later_than_its_job() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    cluster.create_job("early", "late", json!({})).await;
    let event = cluster
        .event("early", "TrainingRuntime \"late\" does not exist")
        .await;
    assert!(
        event.first_timestamp.is_some() && event.last_timestamp.is_some(),
        "the SDK sees no other Events"
    );
    assert_eq!(event.reason.as_deref(), Some(condition::REASON_RESOURCES));
    let stalled = cluster
        .job_when("early", "is stalled", |j| j.has(condition::STALLED))
        .await;
    assert!(
        stalled
            .condition(condition::STALLED)
            .unwrap()
            .message
            .contains("spec.runtimeRef")
    );

    cluster.create_runtime("late", "sleep 300").await;
    cluster.jobset_when("early", "is there", |_| true).await;
    let job = cluster
        .job_when("early", "is stalled no more", |j| {
            j.condition(condition::STALLED).is_none()
        })
        .await;
    assert!(job.status.and_then(|s| s.conditions).is_none());
    cluster.leave().await;
}

#[tokio::test]
async fn a_job_that_validate_would_refuse_leaves_nothing_half_made() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    let mut two = runtime("two", "true");
    two["spec"]["mlPolicy"] = json!({"torch": {}});
    cluster
        .api::<TrainingRuntime>()
        .patch("two", &PatchParams::apply("test"), &Patch::Apply(&two))
        .await
        .unwrap();
    let patch = |job: &str| {
        json!([{"manager": "example.com/me", "trainingRuntimeSpec": {"template": {"spec": {
            "replicatedJobs": [{"name": job, "template": {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}}],
        }}}}])
    };
    cluster
        .create_job(
            "bad",
            "two",
            json!({
                "trainer": {"env": [{"name": "PET_NNODES", "value": "9"}]},
                "runtimePatches": patch("nodes"),
            }),
        )
        .await;
    // All that is wrong, at once, each with its field and the way out.
    let event = cluster.event("bad", "did you mean \"node\"").await;
    let message = event.message.unwrap();
    assert!(message.contains("spec.trainer.env: PET_NNODES"), "{message}");
    assert!(message.contains("spec.runtimePatches[0]"), "{message}");

    let long = "n".repeat(49);
    cluster.create_job(&long, "two", json!({})).await;
    cluster.event(&long, "metadata.name").await;
    let made: Vec<String> = cluster
        .api::<ConfigMap>()
        .list(&ListParams::default())
        .await
        .unwrap()
        .into_iter()
        .filter_map(|c| c.metadata.name)
        .filter(|name| name != "kube-root-ca.crt")
        .collect();
    assert!(made.is_empty(), "{made:?}");
    cluster.has_no_jobsets().await;
    cluster.leave().await;
}

#[tokio::test]
async fn what_is_allowed_and_not_meant_is_told_once_by_an_event() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    cluster.create_runtime("plain", "true").await;
    let job = json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
        "metadata": {"name": "queued", "labels": {"kueue.x-k8s.io/queue-name": "research"}},
        "spec": {
            "runtimeRef": {"kind": "TrainingRuntime", "name": "plain"}, "suspend": true,
            "trainer": {"env": [{"name": "EMPTY", "value": ""}]},
        },
    });
    let jobs = cluster.jobs();
    jobs.patch("queued", &PatchParams::apply("test"), &Patch::Apply(&job))
        .await
        .unwrap();
    let event = cluster.event("queued", "without spec.trainer.env[0].value").await;
    assert_eq!(event.reason.as_deref(), Some("TrainJobWarning"));
    cluster
        .jobset_when("queued", "is there all the same", |_| true)
        .await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_kind_that_is_no_runtime_fails_the_job_once() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    cluster
        .create_job(
            "odd",
            "x",
            json!({"runtimeRef": {"kind": "Deployment", "apiGroup": "apps"}}),
        )
        .await;
    let job = cluster
        .job_when("odd", "has failed", |j| j.has(condition::FAILED))
        .await;
    let failed = job.condition(condition::FAILED).unwrap();
    assert_eq!(failed.reason, condition::REASON_RUNTIME_NOT_SUPPORTED);
    assert!(failed.message.contains("apps/Deployment"), "{}", failed.message);
    cluster.leave().await;
}

#[tokio::test]
async fn a_job_of_another_controller_is_not_touched() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    cluster.create_runtime("plain", "true").await;
    let theirs =
        json!({"managedBy": "kueue.x-k8s.io/multikueue", "activeDeadlineSeconds": 1, "suspend": true});
    cluster.create_job("theirs", "plain", theirs).await;
    cluster
        .create_job("ours", "plain", json!({"suspend": true}))
        .await;
    cluster
        .job_when("ours", "is suspended", |j| j.has(condition::SUSPENDED))
        .await;
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    let theirs = cluster.jobs().get("theirs").await.unwrap();
    assert!(theirs.status.is_none() && theirs.metadata.finalizers.is_none());
    assert!(cluster.jobsets().get_opt("theirs").await.unwrap().is_none());
    assert!(cluster.snapshot("theirs").await.is_none());
    cluster.leave().await;
}

#[tokio::test]
async fn a_jobset_of_the_same_name_is_not_taken_over() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    cluster.create_runtime("plain", "sleep 300").await;
    let foreign = json!({
        "apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": {"name": "same"},
        "spec": {"suspend": true, "replicatedJobs": [{"name": "node", "template": {"spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "node", "image": "localhost/python:1"}],
        }}}}}]},
    });
    cluster
        .jobsets()
        .patch("same", &PatchParams::apply("someone"), &Patch::Apply(&foreign))
        .await
        .unwrap();
    cluster.create_job("same", "plain", json!({})).await;
    cluster
        .event("same", "JobSet same exists and does not belong to this TrainJob")
        .await;
    let now = cluster.jobsets().get("same").await.unwrap();
    let managers = now.metadata.managed_fields.unwrap_or_default();
    let touched = managers.iter().any(|m| m.manager.as_deref() == Some("trainer"));
    assert!(!touched && now.metadata.owner_references.is_none(), "untouched");

    cluster
        .jobsets()
        .delete("same", &Default::default())
        .await
        .unwrap();
    cluster
        .jobset_when("same", "is the job's own", |j| {
            j.metadata.owner_references.is_some()
        })
        .await;
    cluster.leave().await;
}

/// An older schema may have let an object in that no TrainJob can be.
#[tokio::test]
async fn a_malformed_object_does_not_stop_the_good_ones() {
    let cluster = Cluster::take().await;
    let crd = "trainjobs.trainer.kubeflow.org";
    let path =
        "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/trainer/properties/numNodes";
    let loosen =
        json!([{"op": "replace", "path": path, "value": {"x-kubernetes-preserve-unknown-fields": true}}]);
    kubectl(&["patch", "crd", crd, "--type=json", "-p", &loosen.to_string()]);
    let stored = crate::support::until("the loose schema is in force", async || {
        cluster
            .try_create_job("broken", "plain", json!({"trainer": {"numNodes": "two"}}))
            .await
            .ok()
            .map(|_| ())
    });
    // The answer cannot be read as a TrainJob either, so it is the stored object that tells.
    let stored = tokio::time::timeout(std::time::Duration::from_secs(8), stored).await;
    let crds = crate::support::repository("crds");
    kubectl(&[
        "apply",
        "--server-side",
        "--force-conflicts",
        "-f",
        crds.to_str().unwrap(),
    ]);
    let there = kubectl(&[
        "get",
        "trainjob",
        "broken",
        "-n",
        &cluster.namespace,
        "-o",
        "jsonpath={.spec.trainer.numNodes}",
    ]);
    assert_eq!(there, "two", "{stored:?}");

    let controller = Controller::start();
    cluster.create_runtime("plain", "sleep 300").await;
    cluster.create_job("good", "plain", json!({})).await;
    cluster.jobset_when("good", "is there", |_| true).await;
    cluster.event("broken", "spec.trainer.numNodes").await;
    drop(controller);
    kubectl(&["delete", "trainjob", "broken", "-n", &cluster.namespace]);
    cluster.leave().await;
}

#[tokio::test]
async fn an_old_finalizer_is_taken_off_runtimes() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    let mut old: Value = runtime("old", "true");
    old["metadata"]["finalizers"] = json!(["trainer.kubeflow.org/resource-in-use", "example.com/keep"]);
    let api = cluster.api::<TrainingRuntime>();
    api.patch("old", &PatchParams::apply("test"), &Patch::Apply(&old))
        .await
        .unwrap();
    crate::support::until("only the other finalizer is left", async || {
        let finalizers = api
            .get("old")
            .await
            .unwrap()
            .metadata
            .finalizers
            .unwrap_or_default();
        (finalizers == ["example.com/keep"]).then_some(())
    })
    .await;
    api.patch(
        "old",
        &PatchParams::default(),
        &Patch::Merge(json!({"metadata": {"finalizers": null}})),
    )
    .await
    .unwrap();
    cluster.leave().await;
}
