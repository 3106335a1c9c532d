//! What Kueue reserves, and what is used. Kueue makes the pods of a job once more, with code of Kubeflow Trainer that it
//! carries in itself; it does not look at the JobSet.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use serde_json::{Value, json};
use trainer::api::names::condition::COMPLETE;
use trainer::api::{JobSet, TrainingRuntime};

use crate::queue::{Queue, namespaced};
use crate::support::{Cluster, Controller, kubectl, repository};

/// Replicated jobs in their order: name, number of pods, and what each container of a pod asks for.
type Pods = Vec<(String, i64, BTreeMap<String, Value>)>;

#[tokio::test]
async fn kueue_reserves_what_the_jobs_of_all_shipped_runtimes_use_or_they_are_warned() {
    let cluster = Cluster::take().await;
    let controller = Controller::start();
    let queue = Queue::make(&cluster, "1").await;
    queue.stop("Hold").await;
    let runtimes = repository("runtimes");
    kubectl(&["apply", "--server-side", "-f", runtimes.to_str().unwrap()]);
    let (mut jobs, mut refused) = (Vec::new(), Vec::new());
    for (number, runtime) in trainer::catalog::runtimes().unwrap().iter().enumerate() {
        let runtime = runtime["metadata"]["name"].as_str().unwrap();
        // Short enough for the names of all roles.
        let job = format!("job-{number}");
        let spec = json!({"trainer": {"numNodes": 3, "resourcesPerNode": {"requests": {"cpu": "100m"}}}});
        match queue.submit(&job, json!({"name": runtime}), spec).await {
            Ok(_) => jobs.push((runtime.to_owned(), job)),
            Err(error) => refused.push((runtime.to_owned(), error.to_string())),
        }
    }
    let known = ["mpi-mpich-distributed", "mpi-intel-distributed"];
    assert!(
        refused.iter().map(|(runtime, _)| runtime).eq(known)
            && refused.iter().all(|(_, why)| why.contains("MPI")),
        "Kueue knows Open MPI only: {refused:?}"
    );
    let mut wrong = Vec::new();
    for (runtime, job) in jobs {
        let ours = of_jobset(&cluster.jobset_when(&job, "is there", |_| true).await);
        let theirs = of_workload(&queue.workload_when(&job, "is there", |_| true).await);
        let log = controller.log();
        let warned = log
            .lines()
            .any(|line| line.contains(&format!("trainjob={job:?}")) && line.contains("Kueue"));
        if warned == (ours == theirs) {
            wrong.push(format!("{runtime}: {ours:?}, Kueue {theirs:?}, warned: {warned}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    kubectl(&["delete", "--wait=false", "-f", runtimes.to_str().unwrap()]);
    queue.remove().await;
    cluster.leave().await;
}

#[tokio::test]
async fn kueue_counts_the_pods_that_run() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    let queue = Queue::make(&cluster, "1").await;
    // With MPI a launcher is one of the nodes; an initializer comes first, and is not one.
    let runtime = json!({
        "metadata": {"name": "mpi"},
        "spec": {"mlPolicy": {"mpi": {"runLauncherAsNode": true}}, "template": {"spec": {"replicatedJobs": [
            replicated_job("dataset-initializer", "dataset-initializer", None),
            replicated_job("launcher", "node", Some("dataset-initializer")),
            replicated_job("node", "node", None),
        ]}}},
    });
    cluster
        .api::<TrainingRuntime>()
        .create(&PostParams::default(), &serde_json::from_value(runtime).unwrap())
        .await
        .unwrap();
    let spec = json!({"trainer": {"numNodes": 3, "resourcesPerNode": {"requests": {"cpu": "50m"}}}});
    queue.submit("mpi", namespaced("mpi"), spec).await.unwrap();
    cluster.job_when("mpi", "is complete", |j| j.has(COMPLETE)).await;
    let pods = cluster.pods(None).await;
    let used: Pods = of_workload(&queue.workload_when("mpi", "is there", |_| true).await);
    let counts: Vec<_> = used
        .iter()
        .map(|(name, count, _)| (name.as_str(), *count))
        .collect();
    assert_eq!(counts, [("dataset-initializer", 1), ("launcher", 1), ("node", 2)]);
    for (name, count, requests) in used {
        let of_it: Vec<&Pod> = pods
            .iter()
            .filter(|pod| {
                pod.metadata.labels.as_ref().unwrap()["jobset.sigs.k8s.io/replicatedjob-name"] == name
            })
            .collect();
        assert_eq!(of_it.len(), usize::try_from(count).unwrap(), "{name}");
        for pod in of_it {
            assert_eq!(
                asked(&serde_json::to_value(&pod.spec).unwrap()),
                requests,
                "{name}"
            );
        }
    }
    queue.remove().await;
    cluster.leave().await;
}

fn replicated_job(name: &str, container: &str, after: Option<&str>) -> Value {
    let step = if name == container { name } else { "trainer" };
    let mut job = json!({
        "name": name,
        "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": step}},
            "spec": {"template": {"spec": {
                "terminationGracePeriodSeconds": 0,
                "containers": [{
                    "name": container, "image": "localhost/python:1", "command": ["true"],
                    "resources": {"requests": {"cpu": "10m"}},
                }],
            }}},
        },
    });
    if let Some(other) = after {
        job["dependsOn"] = json!([{"name": other, "status": "Complete"}]);
    }
    job
}

fn of_jobset(jobset: &JobSet) -> Pods {
    let jobs = jobset.spec.value()["replicatedJobs"].as_array().unwrap();
    jobs.iter()
        .map(|job| {
            let pods =
                job["template"]["spec"]["parallelism"].as_i64().unwrap() * job["replicas"].as_i64().unwrap();
            (
                job["name"].as_str().unwrap().to_owned(),
                pods,
                asked(&job["template"]["spec"]["template"]["spec"]),
            )
        })
        .collect()
}

fn of_workload(workload: &Value) -> Pods {
    let sets = workload["spec"]["podSets"].as_array().unwrap();
    sets.iter()
        .map(|set| {
            (
                set["name"].as_str().unwrap().to_owned(),
                set["count"].as_i64().unwrap(),
                asked(&set["template"]["spec"]),
            )
        })
        .collect()
}

/// What each container of a pod asks for. A limit is a request too where there is no other.
fn asked(pod: &Value) -> BTreeMap<String, Value> {
    let containers =
        ["initContainers", "containers"].map(|list| pod[list].as_array().cloned().unwrap_or_default());
    containers
        .concat()
        .iter()
        .map(|container| {
            let mut asked = container["resources"]["limits"].clone();
            if let Value::Object(requests) = &container["resources"]["requests"] {
                for (resource, quantity) in requests {
                    asked[resource] = quantity.clone();
                }
            }
            (container["name"].as_str().unwrap().to_owned(), asked)
        })
        .collect()
}
