//! The product as its users get it: the chart installed with Helm, the controller as a pod, an example that trains.

use std::time::Duration;

use kube::Api;
use serde_json::json;
use trainer::api::names::condition;

use crate::sdk::{Scientist, plain_runtime};
use crate::support::{
    Cluster, cluster_runtimes, env, helm, kubectl, kubectl_command, repository, until, until_within,
};

const SYSTEM: &str = "kubeflow-system";

#[tokio::test]
async fn the_chart_installs_trains_upgrades_and_goes() {
    let cluster = Cluster::take().await;
    let image = env("TRAINER_TEST_IMAGE");
    let (name, tag) = image.rsplit_once(':').unwrap();
    let (registry, repository_name) = name.split_once('/').unwrap();
    let chart = repository("charts/kubeflow-trainer");
    let values = [
        format!("image.registry={registry}"),
        format!("image.repository={repository_name}"),
        format!("image.tag={tag}"),
        "runtimes.defaultEnabled=true".to_owned(),
        // With these, every shipped runtime.
        "dataCache.enabled=true".to_owned(),
        "dataCache.runtimes.torchDistributedWithCache.enabled=true".to_owned(),
    ];
    // As on a cluster that has never seen the product.
    let kinds = ["trainjobs", "trainingruntimes", "clustertrainingruntimes"];
    for kind in kinds {
        kubectl(&["delete", "crd", &format!("{kind}.trainer.kubeflow.org"), "--wait"]);
    }
    let mut install = vec![
        "upgrade",
        "--install",
        "kubeflow-trainer",
        chart.to_str().unwrap(),
    ];
    install.extend([
        "--namespace",
        SYSTEM,
        "--create-namespace",
        "--wait",
        "--timeout",
        "3m",
    ]);
    for value in &values {
        install.extend(["--set", value.as_str()]);
    }
    helm(&install);
    assert!(
        cluster_runtimes(&cluster.client)
            .get_opt("torch-distributed")
            .await
            .unwrap()
            .is_some()
    );
    let version = kubectl(&[
        "get",
        "configmap",
        "kubeflow-trainer-public",
        "-n",
        SYSTEM,
        "-o",
        "jsonpath={.data.kubeflow_trainer_version}",
        "--as=somebody",
        "--as-group=system:authenticated",
    ]);
    assert!(!version.is_empty(), "every user may read the version");

    an_editor_of_a_namespace_may_train_in_it(&cluster);
    the_sdk_lists_the_shipped_runtimes(&cluster).await;
    metrics_are_served_through_the_service();
    trains_on_digits(&cluster).await;

    // An upgrade restarts nothing that runs, and a runtime that is not wanted any more goes.
    cluster.create_runtime("plain", "sleep 300").await;
    cluster.create_job("runs", "plain", json!({})).await;
    let before = cluster.jobset_when("runs", "is there", |_| true).await;
    install.extend([
        "--set",
        "runtimes.defaultEnabled=false",
        "--set",
        "manager.log.level=debug",
    ]);
    helm(&install);
    until("the runtime is gone", async || {
        cluster_runtimes(&cluster.client)
            .get_opt("torch-distributed")
            .await
            .unwrap()
            .is_none()
            .then_some(())
    })
    .await;
    let after = cluster.jobsets().get("runs").await.unwrap();
    assert_eq!(
        after.metadata.resource_version.is_some(),
        before.metadata.resource_version.is_some()
    );
    assert_eq!(after.metadata.uid, before.metadata.uid);

    helm(&["uninstall", "kubeflow-trainer", "--namespace", SYSTEM, "--wait"]);
    let crds: Api<
        k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    > = Api::all(cluster.client.clone());
    assert!(
        crds.get_opt("trainjobs.trainer.kubeflow.org")
            .await
            .unwrap()
            .is_some(),
        "the jobs stay"
    );
    assert!(cluster.jobs().get_opt("runs").await.unwrap().is_some());
    cluster.leave().await;
}

fn an_editor_of_a_namespace_may_train_in_it(cluster: &Cluster) {
    let namespace = cluster.namespace.as_str();
    kubectl(&[
        "create",
        "rolebinding",
        "ada",
        "--clusterrole=edit",
        "--user=ada",
        "-n",
        namespace,
    ]);
    let may = |verb: &str, resource: &str, subresource: &str| {
        let mut question = kubectl_command(&["auth", "can-i", verb, resource, "--as=ada", "-n", namespace]);
        question.arg(format!("--subresource={subresource}"));
        String::from_utf8(question.output().unwrap().stdout)
            .unwrap()
            .trim()
            == "yes"
    };
    let jobs = "trainjobs.trainer.kubeflow.org";
    for verb in ["create", "get", "list", "watch", "patch", "delete"] {
        assert!(may(verb, jobs, ""), "{verb}");
    }
    assert!(may("list", "clustertrainingruntimes.trainer.kubeflow.org", ""));
    assert!(may("get", "pods", "log"));
    // The status is the controller's, the shared runtimes are the platform team's.
    assert!(!may("patch", jobs, "status"));
    assert!(!may("create", "clustertrainingruntimes.trainer.kubeflow.org", ""));
}

async fn the_sdk_lists_the_shipped_runtimes(cluster: &Cluster) {
    cluster.apply_runtime(&plain_runtime()).await;
    let shipped = trainer::catalog::runtimes().unwrap();
    let names: Vec<&str> = shipped
        .iter()
        .map(|runtime| runtime["metadata"]["name"].as_str().unwrap())
        .collect();
    Scientist::of(cluster).await.runs("runtimes.py", &names);
}

fn metrics_are_served_through_the_service() {
    let service = "services/kubeflow-trainer-controller-manager:monitoring-port";
    let metrics = kubectl(&[
        "get",
        "--raw",
        &format!("/api/v1/namespaces/{SYSTEM}/{service}/proxy/metrics"),
    ]);
    assert!(
        metrics.lines().any(|line| line.starts_with("# TYPE ")),
        "{metrics}"
    );
}

/// The example of the README: two nodes with two processes each learn the digits together.
async fn trains_on_digits(cluster: &Cluster) {
    let example = repository("examples/torch-digits.yaml");
    kubectl(&["apply", "-n", &cluster.namespace, "-f", example.to_str().unwrap()]);
    let job = until_within(Duration::from_secs(300), "torch-digits ends", async || {
        let job = cluster.jobs().get("torch-digits").await.unwrap();
        job.finished().then_some(job)
    })
    .await;
    let logs = cluster.logs("torch-digits").await;
    assert!(job.has(condition::COMPLETE), "{logs}");
    for rank in 0..4 {
        assert!(logs.contains(&format!("rank {rank} of world size 4")), "{logs}");
    }
    let accuracy = logs
        .split("accuracy ")
        .filter(|part| part.contains("on all"))
        .find_map(|part| part.split_whitespace().next()?.parse::<f64>().ok());
    assert!(accuracy.is_some_and(|a| a > 0.9), "{logs}");
}
