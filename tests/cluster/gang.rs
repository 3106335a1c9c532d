//! Gangs on a real cluster: Kubernetes' own scheduler places them, on nodes that are objects without a kubelet; the
//! PodGroups of the other schedulers meet the schemas of their CRDs.

use std::time::Duration;

use k8s_openapi::api::core::v1::{LimitRange, Node, Pod};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::{Api, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use trainer::api::TrainingRuntime;
use trainer::api::names::condition;

use crate::support::{
    Cluster, Controller, audit_position, kubectl, repository, requests_since, until, until_quiet,
};

/// How long a pod that must not be placed is watched.
const A_WHILE: Duration = Duration::from_secs(5);

/// Nodes without a kubelet, with room for one pod of the test each.
struct Nodes<'a> {
    cluster: &'a Cluster,
    api: Api<Node>,
}

impl<'a> Nodes<'a> {
    async fn make(cluster: &'a Cluster, number: usize) -> Self {
        let nodes = Self {
            cluster,
            api: Api::all(cluster.client.clone()),
        };
        for at in 0..number {
            nodes.add(at).await;
        }
        nodes
    }

    async fn add(&self, at: usize) {
        let name = format!("{}-{at}", self.cluster.namespace);
        let node = json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {"for": self.cluster.namespace}},
            // No other pods than those of the test.
            "spec": {"taints": [{"key": "for", "value": self.cluster.namespace, "effect": "NoSchedule"}]},
        });
        self.api
            .create(&Default::default(), &serde_json::from_value(node).unwrap())
            .await
            .unwrap();
        let room = json!({"cpu": "2", "memory": "4Gi", "pods": "10"});
        let status = json!({"status": {"capacity": room, "allocatable": room}});
        self.api
            .patch_status(&name, &PatchParams::default(), &Patch::Merge(&status))
            .await
            .unwrap();
    }

    /// Takes the pods and nodes away that nobody else would.
    async fn remove(self) {
        let now = DeleteParams::default().grace_period(0);
        for pod in self.cluster.pods(None).await {
            let _ = self.cluster.api::<Pod>().delete(&pod.name_any(), &now).await;
        }
        let ours = ListParams::default().labels(&format!("for={}", self.cluster.namespace));
        self.api.delete_collection(&now, &ours).await.unwrap();
    }
}

/// A runtime whose pods only fit those nodes, one on each.
fn runtime(cluster: &Cluster, name: &str, policy: Value) -> Value {
    let mut runtime = json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": {"name": name},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": {"spec": {
            "failurePolicy": {"maxRestarts": 1},
            "replicatedJobs": [{
                "name": "node",
                "template": {
                    "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                    "spec": {"backoffLimit": 0, "template": {"spec": {
                        "restartPolicy": "Never",
                        "terminationGracePeriodSeconds": 0,
                        "nodeSelector": {"for": cluster.namespace},
                        "tolerations": [{"operator": "Exists"}],
                        "containers": [{"name": "node", "image": "none", "resources": {"requests": {"cpu": "2"}}}],
                    }}},
                },
            }],
        }}},
    });
    if !policy.is_null() {
        runtime["spec"]["podGroupPolicy"] = policy;
    }
    runtime
}

fn pod_of(runtime: &mut Value) -> &mut Value {
    runtime
        .pointer_mut("/spec/template/spec/replicatedJobs/0/template/spec/template/spec")
        .unwrap()
}

async fn apply(cluster: &Cluster, runtime: &Value) {
    let name = runtime["metadata"]["name"].as_str().unwrap();
    let params = PatchParams::apply("test").force();
    cluster
        .api::<TrainingRuntime>()
        .patch(name, &params, &Patch::Apply(runtime))
        .await
        .unwrap();
}

/// Waits until a job has pods, all of them alive.
async fn pods_when(cluster: &Cluster, job: &str, number: usize) -> Vec<Pod> {
    until(&format!("{job} has {number} pods"), async || {
        let pods = cluster.pods(Some(job)).await;
        let alive = pods.iter().all(|pod| pod.metadata.deletion_timestamp.is_none());
        (alive && pods.len() == number).then_some(pods)
    })
    .await
}

/// Counts the pods of a job that have a node.
async fn placed(cluster: &Cluster, job: &str) -> usize {
    let pods = cluster.pods(Some(job)).await;
    pods.iter()
        .filter(|pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_some()))
        .count()
}

async fn placed_when(cluster: &Cluster, job: &str, number: usize) {
    until(&format!("{job} has {number} placed pods"), async || {
        (placed(cluster, job).await == number).then_some(())
    })
    .await;
}

/// Lets the scheduler see the pods of two jobs in turns, as when both come at once.
async fn take_turns(cluster: &Cluster, jobs: [&str; 2], number: usize) {
    let waiting = [
        pods_when(cluster, jobs[0], number).await,
        pods_when(cluster, jobs[1], number).await,
    ];
    let api: Api<Pod> = cluster.api();
    for at in 0..number {
        for pods in &waiting {
            let open = json!({"spec": {"schedulingGates": null}});
            let name = pods[at].name_any();
            api.patch(&name, &PatchParams::default(), &Patch::Merge(&open))
                .await
                .unwrap();
            // The scheduler takes what has been waiting longest.
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }
}

/// Does what the kubelet does when a container has ended.
async fn end(cluster: &Cluster, job: &str, phase: &str) {
    for pod in cluster.pods(Some(job)).await {
        let code = i32::from(phase == "Failed");
        let status = json!({"status": {"phase": phase, "containerStatuses": [{
            "name": "node", "image": "none", "imageID": "", "ready": false, "restartCount": 0,
            "state": {"terminated": {"exitCode": code, "finishedAt": "2026-01-01T00:00:00Z"}},
        }]}});
        let api: Api<Pod> = cluster.api();
        api.patch_status(&pod.name_any(), &PatchParams::default(), &Patch::Merge(&status))
            .await
            .unwrap();
    }
}

/// Does what the kubelet does with pods that are deleted.
async fn bury(cluster: &Cluster, job: &str) {
    let now = DeleteParams::default().grace_period(0);
    for pod in cluster.pods(Some(job)).await {
        if pod.metadata.deletion_timestamp.is_some() {
            let _ = cluster.api::<Pod>().delete(&pod.name_any(), &now).await;
        }
    }
}

fn kind(group: &str, version: &str, kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind))
}

/// Waits until an object that goes with a job is as wanted.
async fn object_when(
    cluster: &Cluster,
    resource: &ApiResource,
    name: &str,
    what: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Value {
    let api = Api::<DynamicObject>::namespaced_with(cluster.client.clone(), &cluster.namespace, resource);
    until(&format!("{} {name}: {what}", resource.kind), async || {
        // The kind may not be served yet.
        let object = api.get_opt(name).await.ok().flatten()?;
        Some(json!(object)).filter(&wanted)
    })
    .await
}

/// Creates an object that lives in no namespace.
async fn create_cluster_wide<K>(cluster: &Cluster, object: Value) -> Api<K>
where
    K: kube::Resource<Scope = k8s_openapi::ClusterResourceScope>
        + Clone
        + Serialize
        + DeserializeOwned
        + std::fmt::Debug,
    K::DynamicType: Default,
{
    let api = Api::<K>::all(cluster.client.clone());
    api.create(&Default::default(), &serde_json::from_value(object).unwrap())
        .await
        .unwrap();
    api
}

#[tokio::test]
async fn one_by_one_two_jobs_block_each_other_and_as_gangs_they_run_one_after_the_other() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    let nodes = Nodes::make(&cluster, 4).await;
    for (name, policy) in [("loose", Value::Null), ("gang", json!({"workload": {}}))] {
        let mut runtime = runtime(&cluster, name, policy);
        // The pods wait for the test before the scheduler sees them.
        pod_of(&mut runtime)["schedulingGates"] = json!([{"name": "test/turn"}]);
        apply(&cluster, &runtime).await;
    }

    // Two jobs that need three of the four nodes: each gets two, and both wait for ever.
    let three = || json!({"trainer": {"numNodes": 3}});
    for job in ["loose-a", "loose-b"] {
        cluster.create_job(job, "loose", three()).await;
    }
    take_turns(&cluster, ["loose-a", "loose-b"], 3).await;
    placed_when(&cluster, "loose-a", 2).await;
    placed_when(&cluster, "loose-b", 2).await;
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(
        [
            placed(&cluster, "loose-a").await,
            placed(&cluster, "loose-b").await
        ],
        [2, 2],
        "both hold half of the nodes and neither can run"
    );
    for job in ["loose-a", "loose-b"] {
        cluster
            .jobs()
            .delete(job, &DeleteParams::background())
            .await
            .unwrap();
    }
    until("the pods are gone", async || {
        bury(&cluster, "loose-a").await;
        bury(&cluster, "loose-b").await;
        cluster.pods(None).await.is_empty().then_some(())
    })
    .await;

    // The same two as gangs: one has all its pods placed, the other none.
    for job in ["gang-a", "gang-b"] {
        cluster.create_job(job, "gang", three()).await;
    }
    take_turns(&cluster, ["gang-a", "gang-b"], 3).await;
    let first = until("one of the gangs is placed", async || {
        for job in ["gang-a", "gang-b"] {
            if placed(&cluster, job).await == 3 {
                return Some(job);
            }
        }
        None
    })
    .await;
    let second = if first == "gang-a" { "gang-b" } else { "gang-a" };
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(placed(&cluster, second).await, 0, "the other gang waits whole");
    let group = kind("scheduling.k8s.io", "v1beta1", "PodGroup");
    object_when(&cluster, &group, second, "waits", |group| {
        group["status"]["conditions"][0]["reason"] == "Unschedulable"
    })
    .await;

    end(&cluster, first, "Succeeded").await;
    cluster
        .job_when(first, "is complete", |j| j.has(condition::COMPLETE))
        .await;
    placed_when(&cluster, second, 3).await;
    end(&cluster, second, "Succeeded").await;
    cluster
        .job_when(second, "is complete", |j| j.has(condition::COMPLETE))
        .await;
    nodes.remove().await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_gang_forms_again_after_a_suspension_and_after_a_restart() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    let nodes = Nodes::make(&cluster, 1).await;
    let priority = format!("{}-gold", cluster.namespace);
    let class = json!({"metadata": {"name": priority}, "value": 7});
    let classes = create_cluster_wide::<PriorityClass>(&cluster, class).await;
    let policy = json!({"workload": {"disruptionMode": "Single", "priorityClassName": priority}});
    apply(&cluster, &runtime(&cluster, "gang", policy)).await;
    cluster
        .create_job("two", "gang", json!({"trainer": {"numNodes": 2}}))
        .await;
    let (group, workload) = (
        kind("scheduling.k8s.io", "v1beta1", "PodGroup"),
        kind("scheduling.k8s.io", "v1beta1", "Workload"),
    );
    let made = object_when(&cluster, &group, "two", "is there", |_| true).await;
    assert_eq!(made["spec"]["schedulingPolicy"]["gang"]["minCount"], 2);
    assert_eq!(made["spec"]["disruptionMode"], json!({"single": {}}));
    assert_eq!(made["spec"]["priority"], 7);
    assert_eq!(made["metadata"]["ownerReferences"][0]["kind"], "TrainJob");
    let made = object_when(&cluster, &workload, "two", "is there", |_| true).await;
    assert_eq!(made["spec"]["controllerRef"]["name"], "two");

    // One node is not enough for either.
    pods_when(&cluster, "two", 2).await;
    tokio::time::sleep(A_WHILE).await;
    assert_eq!(placed(&cluster, "two").await, 0);
    nodes.add(1).await;
    placed_when(&cluster, "two", 2).await;

    cluster.patch_job("two", json!({"spec": {"suspend": true}})).await;
    until("the pods are gone", async || {
        bury(&cluster, "two").await;
        cluster.pods(Some("two")).await.is_empty().then_some(())
    })
    .await;
    cluster
        .patch_job("two", json!({"spec": {"suspend": false}}))
        .await;
    placed_when(&cluster, "two", 2).await;

    let failed = cluster.pods(Some("two")).await;
    end(&cluster, "two", "Failed").await;
    until("JobSet has started anew", async || {
        bury(&cluster, "two").await;
        let pods = cluster.pods(Some("two")).await;
        let new = pods
            .iter()
            .all(|pod| failed.iter().all(|old| old.uid() != pod.uid()));
        (new && placed(&cluster, "two").await == 2).then_some(())
    })
    .await;
    end(&cluster, "two", "Succeeded").await;
    cluster
        .job_when("two", "is complete", |j| j.has(condition::COMPLETE))
        .await;
    classes.delete(&priority, &Default::default()).await.unwrap();
    nodes.remove().await;
    cluster.leave().await;
}

#[tokio::test]
async fn a_gang_of_real_pods_runs_to_its_end() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    let mut runtime = crate::support::runtime("real", "echo node $JOB_COMPLETION_INDEX");
    runtime["spec"]["podGroupPolicy"] = json!({"workload": {}});
    apply(&cluster, &runtime).await;
    cluster
        .create_job("real", "real", json!({"trainer": {"numNodes": 2}}))
        .await;
    cluster
        .job_when("real", "is complete", |j| j.has(condition::COMPLETE))
        .await;
    let group = kind("scheduling.k8s.io", "v1beta1", "PodGroup");
    object_when(&cluster, &group, "real", "was placed", |group| {
        group["status"]["conditions"][0]["reason"] == "Scheduled"
    })
    .await;
    let logs = cluster.logs("real").await;
    assert!(logs.contains("node 0") && logs.contains("node 1"), "{logs}");
    cluster.leave().await;
}

#[tokio::test]
async fn what_the_api_server_drops_of_a_gang_is_told_before_anything_is_made() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    // The feature gate of this field is off.
    let policy = json!({"workload": {"topologyKey": "topology.kubernetes.io/rack"}});
    apply(&cluster, &runtime(&cluster, "racks", policy)).await;
    cluster.create_job("racks", "racks", json!({})).await;
    let event = cluster
        .event(
            "racks",
            "the API server drops spec.podGroupTemplates[gang].schedulingConstraints",
        )
        .await;
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    assert!(cluster.jobsets().get_opt("racks").await.unwrap().is_none());
    cluster.leave().await;
}

/// The CRDs of the other gang schedulers. They go with the test: no other may find them there.
struct Definitions;

impl Definitions {
    fn files() -> [String; 2] {
        ["coscheduling", "volcano"].map(|name| {
            repository(&format!("tests/cluster/crds/{name}.yaml"))
                .to_str()
                .unwrap()
                .to_owned()
        })
    }

    fn install() {
        let [one, other] = Self::files();
        kubectl(&["apply", "-f", &one, "-f", &other]);
    }

    fn remove() {
        let [one, other] = Self::files();
        kubectl(&["delete", "--ignore-not-found", "-f", &one, "-f", &other]);
    }
}

fn coscheduling() -> ApiResource {
    kind("scheduling.x-k8s.io", "v1alpha1", "PodGroup")
}

fn volcano() -> ApiResource {
    kind("scheduling.volcano.sh", "v1beta1", "PodGroup")
}

/// A runtime for Volcano, with a queue, a priority and a runtime class.
fn runtime_of_volcano(cluster: &Cluster, priority: &str) -> Value {
    let policy = json!({"volcano": {"networkTopology": {"mode": "soft"}}});
    let mut runtime = runtime(cluster, "volcano", policy);
    runtime["spec"]["template"]["metadata"]["annotations"] =
        json!({"scheduling.volcano.sh/queue-name": "teams"});
    let pod = pod_of(&mut runtime);
    pod["priorityClassName"] = json!(priority);
    pod["runtimeClassName"] = json!(cluster.namespace);
    pod["schedulerName"] = json!("volcano");
    runtime
}

/// Creates a suspended job of three nodes on each of the two runtimes.
async fn create_both_suspended(cluster: &Cluster) {
    let requests = json!({"requests": {"cpu": "500m"}});
    let three = json!({"suspend": true, "trainer": {"numNodes": 3, "resourcesPerNode": requests}});
    for job in ["plugin", "volcano"] {
        cluster.create_job(job, job, three.clone()).await;
    }
}

#[tokio::test]
async fn a_gang_waits_for_its_scheduler_and_its_priority_class_to_be_installed() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    Definitions::remove();
    let priority = format!("{}-gold", cluster.namespace);
    apply(
        &cluster,
        &runtime(&cluster, "plugin", json!({"coscheduling": {}})),
    )
    .await;
    apply(&cluster, &runtime_of_volcano(&cluster, &priority)).await;
    create_both_suspended(&cluster).await;
    let missing = "does not serve PodGroup (scheduling.x-k8s.io/v1alpha1): install it";
    cluster.event("plugin", missing).await;
    cluster
        .event("volcano", &format!("PriorityClass \"{priority}\""))
        .await;
    cluster.has_no_jobsets().await;
    let class = json!({"metadata": {"name": priority}, "value": 7});
    let classes = create_cluster_wide::<PriorityClass>(&cluster, class).await;
    Definitions::install();

    // Once both are there, the jobs go on by themselves.
    let made = object_when(&cluster, &coscheduling(), "plugin", "is there", |_| true).await;
    assert_eq!(
        made["spec"],
        json!({"minMember": 3, "minResources": {"cpu": "1500m"}, "scheduleTimeoutSeconds": 60})
    );
    let made = object_when(&cluster, &volcano(), "volcano", "is there", |_| true).await;
    assert_eq!(
        made["spec"],
        json!({
            "minMember": 3, "minResources": {"cpu": "1500m"}, "queue": "teams", "priorityClassName": priority,
            "networkTopology": {"mode": "soft", "highestTierAllowed": 1},
        })
    );
    for job in ["plugin", "volcano"] {
        cluster.jobset_when(job, "is there", |_| true).await;
    }
    Definitions::remove();
    classes.delete(&priority, &Default::default()).await.unwrap();
    cluster.leave().await;
}

#[tokio::test]
async fn the_gang_of_a_suspended_job_follows_what_it_is_counted_from() {
    let cluster = Cluster::take().await;
    let _controller = Controller::start();
    Definitions::install();
    apply(
        &cluster,
        &runtime(&cluster, "plugin", json!({"coscheduling": {}})),
    )
    .await;
    apply(&cluster, &runtime_of_volcano(&cluster, "system-node-critical")).await;
    create_both_suspended(&cluster).await;
    for job in ["plugin", "volcano"] {
        cluster.jobset_when(job, "is there", |_| true).await;
    }

    let limits = json!({"metadata": {"name": "limits"}, "spec": {"limits": [
        {"type": "Container", "defaultRequest": {"memory": "1Gi"}},
    ]}});
    let ranges: Api<LimitRange> = cluster.api();
    ranges
        .create(&Default::default(), &serde_json::from_value(limits).unwrap())
        .await
        .unwrap();
    let memory = |wanted: Value| move |group: &Value| group["spec"]["minResources"]["memory"] == wanted;
    object_when(
        &cluster,
        &coscheduling(),
        "plugin",
        "counts memory",
        memory(json!("3Gi")),
    )
    .await;
    object_when(
        &cluster,
        &volcano(),
        "volcano",
        "counts memory",
        memory(json!("3Gi")),
    )
    .await;
    let overhead = json!({"podFixed": {"cpu": "100m"}});
    let class = json!({"metadata": {"name": cluster.namespace}, "handler": "kata", "overhead": overhead});
    let classes = create_cluster_wide::<RuntimeClass>(&cluster, class).await;
    object_when(&cluster, &volcano(), "volcano", "counts the overhead", |group| {
        group["spec"]["minResources"]["cpu"] == "1800m"
    })
    .await;

    let position = audit_position();
    ranges.delete("limits", &Default::default()).await.unwrap();
    object_when(
        &cluster,
        &coscheduling(),
        "plugin",
        "no longer counts memory",
        memory(Value::Null),
    )
    .await;
    object_when(
        &cluster,
        &volcano(),
        "volcano",
        "no longer counts memory",
        memory(Value::Null),
    )
    .await;
    until_quiet(&cluster.namespace).await;
    let requests = requests_since(position, &cluster.namespace);
    let mut writes = requests.clone();
    writes.retain(|request| !request.starts_with("get "));
    assert_eq!(
        writes, ["patch podgroups"; 2],
        "one write for each, and no more: {requests:?}"
    );

    Definitions::remove();
    classes
        .delete(&cluster.namespace, &Default::default())
        .await
        .unwrap();
    cluster.leave().await;
}
