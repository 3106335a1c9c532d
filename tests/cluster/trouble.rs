//! Many jobs at once, and a world that fails: the controller is killed, restarted, refused, and loses its kinds.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;

use crate::api_server::ApiServer;
use crate::faults::{Fault, Faults};
use crate::support::{
    Cluster, Controller, audit_position, kubectl, repository, requests_since, until, until_quiet,
    writes_since,
};

const MANY: usize = 200;

/// Creates suspended jobs: they get their JobSet, and no pods that would keep two cores busy.
async fn create_many(cluster: &Cluster, count: usize) {
    stream::iter(0..count)
        .for_each_concurrent(8, |i| async move {
            cluster
                .create_job(&format!("job-{i}"), "plain", json!({"suspend": true}))
                .await;
        })
        .await;
}

async fn all_have_their_jobset(cluster: &Cluster, count: usize) {
    until(&format!("{count} JobSets"), async || {
        let jobsets = cluster.jobsets().list(&ListParams::default()).await.unwrap();
        (jobsets.items.len() == count).then_some(())
    })
    .await;
    let jobs = cluster.jobs().list(&ListParams::default()).await.unwrap();
    let uids: BTreeMap<String, String> = jobs
        .into_iter()
        .map(|j| (j.name_any(), j.uid().unwrap()))
        .collect();
    for jobset in cluster.jobsets().list(&ListParams::default()).await.unwrap() {
        let owner = &jobset.metadata.owner_references.as_ref().unwrap()[0];
        assert_eq!(uids[&jobset.name_any()], owner.uid);
    }
}

async fn all_are_reported(cluster: &Cluster, count: usize) {
    until("every status is written", async || {
        let jobs = cluster.jobs().list(&ListParams::default()).await.unwrap();
        let reported = |j: &&trainer::api::TrainJob| {
            j.has("Suspended") && j.status.as_ref().is_some_and(|s| s.jobs_status.is_some())
        };
        (jobs.iter().filter(reported).count() == count).then_some(())
    })
    .await;
}

#[tokio::test]
async fn two_hundred_jobs_at_once_all_get_their_jobset_and_a_restart_writes_nothing() {
    let cluster = Cluster::take().await;
    let controller = Controller::start();
    cluster.create_runtime("plain", "true").await;
    let start = audit_position();
    create_many(&cluster, MANY).await;
    all_have_their_jobset(&cluster, MANY).await;
    all_are_reported(&cluster, MANY).await;
    until_quiet(&cluster.namespace).await;
    let writes = writes_since(start, &cluster.namespace);
    let count = |what: &str| writes.iter().filter(|w| *w == what).count();
    assert_eq!(count("create jobsets"), MANY, "one write makes a JobSet");
    assert_eq!(count("create configmaps"), MANY, "one write makes a snapshot");
    let requests = requests_since(start, &cluster.namespace);
    assert!(
        !requests.iter().any(|r| r == "get configmaps"),
        "a new job has no snapshot to look for"
    );
    assert!(
        count("patch trainjobs/status") <= 3 * MANY,
        "{} status writes",
        count("patch trainjobs/status")
    );
    assert_eq!(count("create events"), 0);

    drop(controller);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let restart = audit_position();
    let controller = Controller::start();
    controller.says("watching kind=TrainJob").await;
    controller.says("watching kind=JobSet").await;
    until("every suspended job was looked at", async || {
        let requests = requests_since(restart, &cluster.namespace);
        (requests.iter().filter(|r| *r == "get jobsets").count() >= MANY).then_some(())
    })
    .await;
    until_quiet(&cluster.namespace).await;
    assert_eq!(writes_since(restart, &cluster.namespace), Vec::<String>::new());
    cluster.leave().await;
}

#[tokio::test]
async fn after_a_restart_a_new_job_goes_before_those_that_were_there() {
    let cluster = Cluster::take().await;
    cluster.create_runtime("plain", "true").await;
    let controller = Controller::start();
    let count = 100;
    create_many(&cluster, count).await;
    all_have_their_jobset(&cluster, count).await;
    all_are_reported(&cluster, count).await;
    drop(controller);

    cluster.create_job("new", "plain", json!({"suspend": true})).await;
    let restart = audit_position();
    // Two reads for each suspended job take twenty seconds.
    let _controller = Controller::start_with(None, &["--kube-api-qps=10", "--kube-api-burst=1"]);
    cluster.jobset_when("new", "is there", |_| true).await;
    let requests = requests_since(restart, &cluster.namespace);
    let looked_through = requests.iter().filter(|r| *r == "get jobsets").count();
    assert!(
        looked_through < count / 2,
        "{looked_through} of {count} went first"
    );
    cluster.leave().await;
}

#[tokio::test]
async fn killed_at_any_moment_it_goes_on_where_it_was() {
    let cluster = Cluster::take().await;
    cluster.create_runtime("plain", "true").await;
    let count = 60;
    let kills = async {
        for delay in [150, 250, 350, 200, 300] {
            let controller = Controller::start();
            tokio::time::sleep(Duration::from_millis(500 + delay)).await;
            controller.kill();
        }
        Controller::start()
    };
    let ((), _controller) = tokio::join!(create_many(&cluster, count), kills);
    all_have_their_jobset(&cluster, count).await;
    all_are_reported(&cluster, count).await;
    cluster.leave().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn told_to_end_it_finishes_what_it_has_begun() {
    let cluster = Cluster::take().await;
    cluster.create_runtime("plain", "true").await;
    let count = 40;
    let end = async {
        let controller = Controller::start();
        controller.says("created JobSet").await;
        tokio::task::block_in_place(|| controller.end())
    };
    let (log, ()) = tokio::join!(end, create_many(&cluster, count));
    // A reconcile that was cut off would have made a snapshot without its JobSet.
    let snapshots = cluster
        .api::<ConfigMap>()
        .list(&ListParams::default())
        .await
        .unwrap();
    let snapshots = snapshots
        .iter()
        .filter(|c| c.name_any().ends_with("-runtime-snapshot"));
    let jobsets = cluster.jobsets().list(&ListParams::default()).await.unwrap();
    assert_eq!(snapshots.count(), jobsets.items.len(), "{log}");

    let _controller = Controller::start();
    all_have_their_jobset(&cluster, count).await;
    cluster.leave().await;
}

#[tokio::test]
async fn refused_and_failing_requests_are_tried_again() {
    let cluster = Cluster::take().await;
    cluster.create_runtime("plain", "true").await;
    let faults = Faults::before(cluster.client.clone()).await;
    let _controller = Controller::start_through(Some(&faults.address));
    // Each kind of write fails in each way before it works.
    for (at, code) in [409, 429, 500, 503].into_iter().enumerate() {
        for (method, path) in [("POST", "configmaps"), ("POST", "jobsets"), ("PATCH", "status")] {
            faults.add(Fault {
                method,
                path,
                code,
                times: 2,
            });
        }
        let name = format!("job-{at}");
        cluster.create_job(&name, "plain", json!({"suspend": true})).await;
        cluster
            .job_when(&name, "is reported", |j| j.has("Suspended"))
            .await;
        cluster.jobset_when(&name, "is there", |_| true).await;
        assert_eq!(faults.left(), 0, "every fault was met");
    }
    // All connections end, as when the API server restarts.
    faults.cut().await;
    cluster
        .create_job("after", "plain", json!({"suspend": true}))
        .await;
    cluster.jobset_when("after", "is there", |_| true).await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_job_gets_the_runtime_as_it_is_although_the_watch_does_not_know_yet() {
    let cluster = Cluster::take().await;
    let faults = Faults::before(cluster.client.clone()).await;
    cluster.create_runtime("plain", "echo before").await;
    let controller = Controller::start_through(Some(&faults.address));
    controller.says("watching kind=TrainingRuntime").await;
    // Lists and watches of the kind, which name no namespace.
    faults.add(Fault {
        method: "GET",
        path: "v1alpha1/trainingruntimes",
        code: 500,
        times: usize::MAX,
    });
    faults.cut().await;
    cluster.create_runtime("plain", "echo after").await;
    cluster.create_job("job", "plain", json!({"suspend": true})).await;
    let jobset = cluster.jobset_when("job", "is there", |_| true).await;
    let spec = jobset.spec.value().to_string();
    assert!(spec.contains("echo after"), "{spec}");
    cluster.leave().await;
}

#[tokio::test]
async fn without_jobset_it_says_so_and_starts_when_jobset_is_installed() {
    let cluster = Cluster::take().await;
    let crd = kubectl(&["get", "crd", "jobsets.jobset.x-k8s.io", "-o", "json"]);
    kubectl(&["delete", "crd", "jobsets.jobset.x-k8s.io", "--wait=true"]);
    let controller = Controller::start();
    cluster.create_runtime("plain", "true").await;
    controller.says("the cluster does not serve this kind").await;
    cluster
        .create_job("waits", "plain", json!({"suspend": true}))
        .await;
    cluster.event("waits", "does not serve JobSet").await;

    let mut crd: serde_json::Value = serde_json::from_str(&crd).unwrap();
    for key in [
        "resourceVersion",
        "uid",
        "creationTimestamp",
        "generation",
        "managedFields",
    ] {
        crd["metadata"].as_object_mut().unwrap().remove(key);
    }
    crd.as_object_mut().unwrap().remove("status");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), crd.to_string()).unwrap();
    kubectl(&[
        "apply",
        "--server-side",
        "--force-conflicts",
        "-f",
        file.path().to_str().unwrap(),
    ]);
    until("the kind is served", async || {
        cluster.jobsets().list(&ListParams::default()).await.ok()
    })
    .await;
    cluster.jobset_when("waits", "is there", |_| true).await;
    cluster
        .job_when("waits", "is stalled no more", |j| {
            j.condition("Stalled").is_none() && j.has("Suspended")
        })
        .await;
    assert!(repository("crds").exists());
    cluster.leave().await;
}

#[tokio::test]
async fn it_outlives_a_restart_of_the_api_server() {
    let cluster = Cluster::take().await;
    let controller = Controller::start();
    cluster.create_runtime("plain", "true").await;
    cluster
        .create_job("before", "plain", json!({"suspend": true}))
        .await;
    cluster.jobset_when("before", "is there", |_| true).await;

    let server = ApiServer::find();
    server.stop();
    // Long enough for the watches to fail more than once.
    tokio::time::sleep(Duration::from_secs(3)).await;
    server.start();
    until("the API server is back", async || {
        cluster.jobs().list(&ListParams::default()).await.ok()
    })
    .await;

    cluster
        .create_job("after", "plain", json!({"suspend": true}))
        .await;
    cluster.jobset_when("after", "is there", |_| true).await;
    cluster
        .job_when("after", "is reported", |j| j.has("Suspended"))
        .await;
    assert!(!controller.log().contains("panicked"));
    cluster.leave().await;
}
