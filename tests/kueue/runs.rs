//! A job's way through a queue: in, out, and back in.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use trainer::api::names::condition::{COMPLETE, FAILED};
use trainer::api::{JobSet, TrainJob};

use crate::queue::{self, HOST, MANAGER, POOL, Queue, condition, is, namespaced};
use crate::support::{Cluster, Controller, until};

/// More than half of a queue with one CPU.
const SIX_TENTHS: &str = "600m";

#[tokio::test]
async fn kueue_starts_a_job_with_what_it_wrote_into_it() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    let queue = Queue::make(&cluster, "1").await;
    cluster.create_runtime("plain", "sleep 1").await;
    queue.stop("Hold").await;
    let created = queue
        .submit("first", namespaced("plain"), nodes_with_cpus(2, "100m"))
        .await
        .unwrap();
    assert_eq!(created.spec.suspend, Some(true), "by Kueue's webhook");
    let nothing = json!({"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {}}}});
    assert_eq!(queue::patch(&created), Some(nothing.clone()));

    // An entry that patches nothing does nothing, and survives.
    let waiting = cluster
        .jobset_when("first", "is suspended", JobSet::suspended)
        .await;
    assert_eq!(pod_template(&waiting)["spec"]["nodeSelector"], json!(null));
    let workload = queue.workload_when("first", "is there", |_| true).await;
    assert!(!is(&workload, "QuotaReserved"), "{workload}");
    assert_eq!(
        queue::patch(&cluster.jobs().get("first").await.unwrap()),
        Some(nothing)
    );

    queue.stop("None").await;
    let done = cluster
        .job_when("first", "is complete", |j| j.has(COMPLETE))
        .await;
    let patch = queue::patch(&done).unwrap();
    let written = &patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"][0];
    assert_eq!(written["name"], "node");
    let written = &written["template"]["spec"]["template"];
    assert_eq!(written["spec"]["nodeSelector"], json!({POOL: cluster.namespace}));
    assert_eq!(written["metadata"]["labels"]["kueue.x-k8s.io/podset"], "node");

    // JobSet takes these only while it is suspended, so they came before it was resumed.
    let jobset = cluster.jobsets().get("first").await.unwrap();
    assert_eq!(
        jobset.metadata.uid, waiting.metadata.uid,
        "one JobSet in a job's life"
    );
    has_all_of(&pod_template(&jobset), written);
    let pods = cluster.pods(Some("first")).await;
    assert_eq!(pods.len(), 2, "{:?}", queue::names(&pods));
    for pod in &pods {
        has_all_of(&serde_json::to_value(pod).unwrap(), written);
    }

    let workload = queue
        .workload_when("first", "has finished", |w| is(w, "Finished"))
        .await;
    let finished = condition(&workload, "Finished").unwrap();
    assert_eq!(
        (&finished["reason"], &finished["message"]),
        (
            &json!("Succeeded"),
            &json!(done.condition(COMPLETE).unwrap().message)
        )
    );
    queue.uses("0").await;
    // Kueue looks after JobSets, Jobs and Pods too. It leaves those alone that belong to a job which it has in a queue.
    let workloads = queue.workloads().await;
    assert_eq!(workloads.len(), 1, "{workloads:?}");
    queue.remove().await;
    cluster.leave().await;
}

#[tokio::test]
async fn kueue_holds_pods_back_until_it_has_chosen_their_nodes() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    let queue = Queue::with_topology(&cluster, "1").await;
    cluster.create_runtime("plain", "sleep 1").await;
    queue
        .submit("placed", namespaced("plain"), nodes_with_cpus(2, "100m"))
        .await
        .unwrap();
    cluster
        .job_when("placed", "is complete", |j| j.has(COMPLETE))
        .await;
    let jobset = cluster.jobsets().get("placed").await.unwrap();
    assert_eq!(
        pod_template(&jobset)["spec"]["schedulingGates"],
        json!([{"name": "kueue.x-k8s.io/topology"}])
    );
    // Who opens the gate names the node.
    let pods = cluster.pods(Some("placed")).await;
    assert_eq!(pods.len(), 2, "{:?}", queue::names(&pods));
    for pod in pods {
        let selector = pod.spec.unwrap().node_selector.unwrap();
        assert!(selector.contains_key(HOST), "{selector:?}");
    }
    queue.delete("Topology", &cluster.namespace).await;
    queue.remove().await;
    cluster.leave().await;
}

#[tokio::test]
async fn kueue_lets_jobs_wait_until_there_is_quota() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    let queue = Queue::make(&cluster, "1").await;
    for (name, script) in [("long", "sleep 300"), ("short", "sleep 1"), ("bad", "exit 3")] {
        cluster.create_runtime(name, script).await;
        // A number, as the SDK writes quantities. What Kueue writes back has a text there.
        queue
            .submit(name, namespaced(name), nodes_with_cpus(1, 1))
            .await
            .unwrap();
        queue.workload_when(name, "is there", |_| true).await;
        // Who came first is known by the second.
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    cluster.job_when("long", "runs", |j| ready(j) == Some(1)).await;
    let second = queue
        .workload_when("short", "has to wait", |w| {
            condition(w, "QuotaReserved").is_some_and(|c| c["reason"] == "Pending")
        })
        .await;
    let message = &condition(&second, "QuotaReserved").unwrap()["message"];
    assert!(message.as_str().unwrap().contains("insufficient"), "{message}");
    for name in ["short", "bad"] {
        cluster.jobset_when(name, "is suspended", JobSet::suspended).await;
        assert!(cluster.pods(Some(name)).await.is_empty());
    }

    // The place of a job that is deleted is given away, and so is that of a job that has ended.
    cluster.jobs().delete("long", &Default::default()).await.unwrap();
    let short = cluster
        .job_when("short", "is complete", |j| j.has(COMPLETE))
        .await;
    let bad = cluster.job_when("bad", "has failed", |j| j.has(FAILED)).await;
    let workload = queue
        .workload_when("bad", "has finished", |w| is(w, "Finished"))
        .await;
    let finished = condition(&workload, "Finished").unwrap();
    assert_eq!(
        (&finished["reason"], &finished["message"]),
        (&json!("Failed"), &json!(bad.condition(FAILED).unwrap().message))
    );
    let admitted: k8s_openapi::jiff::Timestamp =
        serde_json::from_value(condition(&workload, "Admitted").unwrap()["lastTransitionTime"].clone())
            .unwrap();
    let ended = short.condition(COMPLETE).unwrap().last_transition_time.0;
    assert!(
        admitted >= ended,
        "one after the other: {ended} is the end of one, {admitted} the start of the next"
    );
    queue.remove().await;
    cluster.leave().await;
}

#[tokio::test]
async fn kueue_takes_a_job_out_and_lets_it_in_again() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    let queue = Queue::make(&cluster, "1").await;
    runtime_that_ends_when_told(&cluster).await;
    queue
        .submit("back", namespaced("told"), nodes_with_cpus(1, SIX_TENTHS))
        .await
        .unwrap();
    cluster.job_when("back", "runs", |j| ready(j) == Some(1)).await;
    queue.uses(SIX_TENTHS).await;
    let first = cluster.jobsets().get("back").await.unwrap();

    queue.stop("HoldAndDrain").await;
    is_out(&queue, &cluster, "back", &first).await;
    queue.uses("0").await;

    tell_to_end(&cluster).await;
    queue.stop("None").await;
    cluster.job_when("back", "is complete", |j| j.has(COMPLETE)).await;
    let jobset = cluster.jobsets().get("back").await.unwrap();
    assert_eq!(
        jobset.metadata.uid, first.metadata.uid,
        "one JobSet in a job's life"
    );
    assert_eq!(
        pod_template(&jobset)["spec"]["nodeSelector"],
        json!({POOL: cluster.namespace})
    );
    queue.remove().await;
    cluster.leave().await;
}

#[tokio::test]
async fn kueue_lets_a_job_make_way_for_one_that_matters_more() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    let queue = Queue::make(&cluster, "1").await;
    let urgent = format!("{}-urgent", cluster.namespace);
    queue
        .apply("WorkloadPriorityClass", &urgent, json!({"value": 1000}))
        .await;
    runtime_that_ends_when_told(&cluster).await;
    queue
        .submit("usual", namespaced("told"), nodes_with_cpus(1, SIX_TENTHS))
        .await
        .unwrap();
    cluster.job_when("usual", "runs", |j| ready(j) == Some(1)).await;
    let first = cluster.jobsets().get("usual").await.unwrap();

    let class = json!({"kueue.x-k8s.io/priority-class": urgent});
    queue
        .submit_with_labels(
            "urgent",
            namespaced("told"),
            nodes_with_cpus(1, SIX_TENTHS),
            class,
        )
        .await
        .unwrap();
    let workload = is_out(&queue, &cluster, "usual", &first).await;
    assert_eq!(condition(&workload, "Evicted").unwrap()["reason"], "Preempted");
    cluster.job_when("urgent", "runs", |j| ready(j) == Some(1)).await;

    tell_to_end(&cluster).await;
    cluster
        .jobs()
        .delete("urgent", &Default::default())
        .await
        .unwrap();
    cluster
        .job_when("usual", "is complete", |j| j.has(COMPLETE))
        .await;
    queue.delete("WorkloadPriorityClass", &urgent).await;
    queue.remove().await;
    cluster.leave().await;
}

/// Waits until a job that ran is out of the queue with all that was its.
async fn is_out(queue: &Queue<'_>, cluster: &Cluster, job: &str, ran_as: &JobSet) -> Value {
    let workload = queue
        .workload_when(job, "is evicted", |w| is(w, "Evicted") && !is(w, "QuotaReserved"))
        .await;
    let suspended = cluster
        .job_when(job, "is suspended, and Kueue's patch is empty", |j| {
            let emptied = queue::patch(j).is_some_and(|patch| {
                patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"].is_null()
            });
            j.spec.suspend == Some(true) && emptied && active(j) == Some(0)
        })
        .await;
    assert!(suspended.has(trainer::api::names::condition::SUSPENDED));
    let jobset = cluster
        .jobset_when(job, "is as before its first start", |j| {
            j.suspended() && pod_template(j)["spec"]["nodeSelector"].get(POOL).is_none()
        })
        .await;
    assert_eq!(
        jobset.metadata.uid, ran_as.metadata.uid,
        "one JobSet in a job's life"
    );
    until("its pods are gone", async || {
        cluster.pods(Some(job)).await.is_empty().then_some(())
    })
    .await;
    workload
}

/// Makes a runtime whose pods run on until [`tell_to_end`] was called before they started.
async fn runtime_that_ends_when_told(cluster: &Cluster) {
    let mut runtime = crate::support::runtime("told", "[ -n \"$END\" ] || sleep 300");
    let told = json!({"name": "end", "key": "end", "optional": true});
    let container = "/spec/template/spec/replicatedJobs/0/template/spec/template/spec/containers/0";
    runtime.pointer_mut(container).unwrap()["env"] =
        json!([{"name": "END", "valueFrom": {"configMapKeyRef": told}}]);
    cluster
        .api::<trainer::api::TrainingRuntime>()
        .create(&PostParams::default(), &serde_json::from_value(runtime).unwrap())
        .await
        .unwrap();
}

async fn tell_to_end(cluster: &Cluster) {
    let map = json!({"metadata": {"name": "end"}, "data": {"end": "now"}});
    let maps: Api<ConfigMap> = cluster.api();
    maps.create(&PostParams::default(), &serde_json::from_value(map).unwrap())
        .await
        .unwrap();
}

fn nodes_with_cpus(nodes: i32, cpus: impl Into<Value>) -> Value {
    let cpus = cpus.into();
    json!({"trainer": {"numNodes": nodes, "resourcesPerNode": {"requests": {"cpu": cpus}}}})
}

/// Asserts that an object has everything that is in another one.
fn has_all_of(object: &Value, wanted: &Value) {
    match wanted {
        Value::Object(wanted) => {
            for (key, wanted) in wanted {
                has_all_of(&object[key], wanted);
            }
        }
        wanted => assert_eq!(object, wanted),
    }
}

fn pod_template(jobset: &JobSet) -> Value {
    jobset.spec.value()["replicatedJobs"][0]["template"]["spec"]["template"].clone()
}

fn ready(job: &TrainJob) -> Option<i32> {
    Some(job.status.as_ref()?.jobs_status.as_ref()?.first()?.ready)
}

fn active(job: &TrainJob) -> Option<i32> {
    Some(job.status.as_ref()?.jobs_status.as_ref()?.first()?.active)
}
