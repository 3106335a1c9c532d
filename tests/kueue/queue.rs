//! Kueue, installed once, and a queue of a test's own.

use std::path::Path;
use std::sync::OnceLock;

use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use trainer::api::TrainJob;

use crate::support::{Cluster, env, helm, kubectl, until};

/// The queue's name in the test's namespace.
const QUEUE: &str = "queue";
/// The label by which a flavor chooses nodes.
pub(crate) const POOL: &str = "example.com/pool";
/// The label by which nodes are told apart.
pub(crate) const HOST: &str = "kubernetes.io/hostname";
/// Who Kueue is among the managers of `spec.runtimePatches`.
pub(crate) const MANAGER: &str = "kueue.x-k8s.io/manager";

/// A queue with a quota of CPUs, for one test. Its flavor is the node, by a label.
pub(crate) struct Queue<'a> {
    cluster: &'a Cluster,
}

impl<'a> Queue<'a> {
    /// Makes the queue.
    pub(crate) async fn make(cluster: &'a Cluster, cpus: &str) -> Self {
        Self::of_flavor(cluster, cpus, json!({})).await
    }

    /// Makes a queue for which Kueue chooses the node of each pod.
    pub(crate) async fn with_topology(cluster: &'a Cluster, cpus: &str) -> Self {
        install();
        let name = &cluster.namespace;
        let levels = json!([{"nodeLabel": HOST}]);
        Self { cluster }
            .apply("Topology", name, json!({"spec": {"levels": levels}}))
            .await;
        Self::of_flavor(cluster, cpus, json!({"topologyName": name})).await
    }

    async fn of_flavor(cluster: &'a Cluster, cpus: &str, mut flavor: Value) -> Self {
        install();
        let queue = Self { cluster };
        let name = &cluster.namespace;
        kubectl(&["label", "node", "--all", "--overwrite", &format!("{POOL}={name}")]);
        flavor["nodeLabels"] = json!({POOL: name});
        queue.apply("ResourceFlavor", name, json!({"spec": flavor})).await;
        let quota = json!({"name": name, "resources": [{"name": "cpu", "nominalQuota": cpus}]});
        queue
            .apply(
                "ClusterQueue",
                name,
                json!({"spec": {
                    "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": name}},
                    "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
                    "preemption": {"withinClusterQueue": "LowerPriority"},
                }}),
            )
            .await;
        queue
            .apply("LocalQueue", QUEUE, json!({"spec": {"clusterQueue": name}}))
            .await;
        queue
    }

    /// Lets nothing in (`Hold`), sends those that run out as well (`HoldAndDrain`), or opens the queue again (`None`).
    pub(crate) async fn stop(&self, policy: &str) {
        let patch = json!({"spec": {"stopPolicy": policy}});
        self.api("ClusterQueue")
            .patch(
                &self.cluster.namespace,
                &PatchParams::default(),
                &Patch::Merge(&patch),
            )
            .await
            .unwrap();
    }

    /// Puts a job with more fields in its spec into the queue.
    pub(crate) async fn submit(&self, name: &str, runtime: Value, spec: Value) -> kube::Result<TrainJob> {
        self.submit_with_labels(name, runtime, spec, json!({})).await
    }

    pub(crate) async fn submit_with_labels(
        &self,
        name: &str,
        runtime: Value,
        mut spec: Value,
        mut labels: Value,
    ) -> kube::Result<TrainJob> {
        labels["kueue.x-k8s.io/queue-name"] = json!(QUEUE);
        spec["runtimeRef"] = runtime;
        let object = json!({
            "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob",
            "metadata": {"name": name, "labels": labels}, "spec": spec,
        });
        // As it is written here: a TrainJob of ours would leave out what is empty.
        let jobs: Api<DynamicObject> = Api::namespaced_with(
            self.cluster.client.clone(),
            &self.cluster.namespace,
            &kind("trainer.kubeflow.org", "v1alpha1", "TrainJob"),
        );
        let object = serde_json::from_value(object).unwrap();
        let created = jobs.create(&Default::default(), &object).await?;
        Ok(serde_json::from_value(serde_json::to_value(created).unwrap()).unwrap())
    }

    /// All Workloads, which are what stands in the queue.
    pub(crate) async fn workloads(&self) -> Vec<Value> {
        let found = self.api("Workload").list(&ListParams::default()).await.unwrap();
        found
            .items
            .into_iter()
            .map(|workload| serde_json::to_value(workload).unwrap())
            .collect()
    }

    /// Waits until the Workload of a job is as wanted.
    pub(crate) async fn workload_when(
        &self,
        job: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        until(&format!("Workload of {job}: {what}"), async || {
            let workloads = self.workloads().await;
            workloads
                .into_iter()
                .find(|w| w["metadata"]["ownerReferences"][0]["name"] == job && wanted(w))
        })
        .await
    }

    /// Waits until so many CPUs are taken.
    pub(crate) async fn uses(&self, cpus: &str) {
        until(&format!("{cpus} CPUs of the queue are taken"), async || {
            let queue = self
                .api("ClusterQueue")
                .get(&self.cluster.namespace)
                .await
                .unwrap();
            (queue.data["status"]["flavorsReservation"][0]["resources"][0]["total"] == cpus).then_some(())
        })
        .await;
    }

    /// Takes away what is not in the test's namespace; the rest goes with that.
    pub(crate) async fn remove(self) {
        for kind in ["ClusterQueue", "ResourceFlavor"] {
            self.delete(kind, &self.cluster.namespace).await;
        }
    }

    pub(crate) async fn delete(&self, kind: &str, name: &str) {
        let params = DeleteParams::background();
        self.api(kind).delete(name, &params).await.unwrap();
    }

    pub(crate) async fn apply(&self, kind: &str, name: &str, mut object: Value) {
        object["apiVersion"] = json!("kueue.x-k8s.io/v1beta2");
        object["kind"] = json!(kind);
        object["metadata"] = json!({"name": name});
        let params = PatchParams::apply("test").force();
        self.api(kind)
            .patch(name, &params, &Patch::Apply(&object))
            .await
            .unwrap();
    }

    fn api(&self, name: &str) -> Api<DynamicObject> {
        let (client, kind) = (
            self.cluster.client.clone(),
            kind("kueue.x-k8s.io", "v1beta2", name),
        );
        match name {
            "LocalQueue" | "Workload" => Api::namespaced_with(client, &self.cluster.namespace, &kind),
            _ => Api::all_with(client, &kind),
        }
    }
}

/// Installs Kueue; once for all tests.
fn install() {
    static DONE: OnceLock<()> = OnceLock::new();
    DONE.get_or_init(|| {
        let chart = env("TRAINER_TEST_KUEUE_CHART");
        let values = std::fs::read_to_string(Path::new(&chart).join("values.yaml")).unwrap();
        let values: Value = serde_saphyr::from_str(&values).unwrap();
        let config = values["managerConfig"]["controllerManagerConfigYaml"]
            .as_str()
            .unwrap();
        // There is one of it, which would end by itself when a busy machine lets it miss its own lease.
        let alone = config.replace("leaderElect: true", "leaderElect: false");
        assert_ne!(alone, config);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.yaml");
        std::fs::write(&file, alone).unwrap();
        let image = env("TRAINER_TEST_KUEUE_IMAGE");
        let (repository, tag) = image.rsplit_once(':').unwrap();
        let mut arguments = vec![
            "upgrade".to_owned(),
            "--install".to_owned(),
            "kueue".to_owned(),
            chart,
            "--namespace=kueue-system".to_owned(),
            "--create-namespace".to_owned(),
            "--wait".to_owned(),
            "--timeout=5m".to_owned(),
            format!(
                "--set-file=managerConfig.controllerManagerConfigYaml={}",
                file.display()
            ),
        ];
        arguments.extend(
            [
                format!("manager.image.repository={repository}"),
                format!("manager.image.tag={tag}"),
                "livenessProbe.timeoutSeconds=10".to_owned(),
                "readinessProbe.initialDelaySeconds=0".to_owned(),
                "readinessProbe.periodSeconds=1".to_owned(),
            ]
            .map(|value| format!("--set=controllerManager.{value}")),
        );
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        helm(&arguments);
        // Until the API server can ask it about the queues, no namespace can be deleted.
        kubectl(&[
            "wait",
            "--for=condition=Available",
            "--timeout=60s",
            "apiservice",
            "v1beta1.visibility.kueue.x-k8s.io",
            "v1beta2.visibility.kueue.x-k8s.io",
        ]);
    });
}

fn kind(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// The condition of an object, if it has it.
pub(crate) fn condition<'a>(object: &'a Value, wanted: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == wanted)
}

/// Whether a condition is there and True.
pub(crate) fn is(object: &Value, wanted: &str) -> bool {
    condition(object, wanted).is_some_and(|condition| condition["status"] == "True")
}

/// What Kueue has in a job's `runtimePatches`.
pub(crate) fn patch(job: &TrainJob) -> Option<Value> {
    let job = serde_json::to_value(job).unwrap();
    let patches = job["spec"]["runtimePatches"].as_array()?;
    patches.iter().find(|patch| patch["manager"] == MANAGER).cloned()
}

pub(crate) fn namespaced(runtime: &str) -> Value {
    json!({"kind": "TrainingRuntime", "name": runtime})
}

/// The names of objects, for messages.
pub(crate) fn names<K: ResourceExt>(objects: &[K]) -> Vec<String> {
    objects.iter().map(ResourceExt::name_any).collect()
}
