//! `TrainingRuntime` and `ClusterTrainingRuntime`: the templates that platform admins maintain.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::EnvVar;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ClusterResourceScope, NamespaceResourceScope};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::jobset::JobSetTemplateSpec;
use super::object::kubernetes_object;
use super::raw::Raw;
use super::rules;

/// A template for the TrainJobs of one namespace.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct TrainingRuntime {
    /// Standard object metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The template.
    #[schemars(extend("minProperties" = 1))]
    pub spec: Option<TrainingRuntimeSpec>,
}

kubernetes_object!(
    TrainingRuntime,
    "TrainingRuntime",
    "trainingruntimes",
    "trainer.kubeflow.org",
    "v1alpha1",
    NamespaceResourceScope,
    []
);

/// A template for the TrainJobs of all namespaces.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct ClusterTrainingRuntime {
    /// Standard object metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The template.
    #[schemars(extend("minProperties" = 1))]
    pub spec: Option<TrainingRuntimeSpec>,
}

kubernetes_object!(
    ClusterTrainingRuntime,
    "ClusterTrainingRuntime",
    "clustertrainingruntimes",
    "trainer.kubeflow.org",
    "v1alpha1",
    ClusterResourceScope,
    []
);

/// The template of both runtime kinds.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrainingRuntimeSpec {
    /// What the framework needs: how many nodes, and which environment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ml_policy: Option<MlPolicy>,
    /// The gang scheduler, which places all pods together or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod_group_policy: Option<PodGroupPolicy>,
    /// The JobSet that a TrainJob becomes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("minProperties" = 1))]
    pub template: Option<Raw<JobSetTemplateSpec>>,
}

/// What the framework needs. At most one of the frameworks may be set.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::one_framework()))]
pub struct MlPolicy {
    /// Default number of training nodes of a TrainJob; 1 if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub num_nodes: Option<i32>,
    /// PyTorch: the environment of torchrun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torch: Option<TorchPolicy>,
    /// MPI: a launcher that reaches the workers over SSH.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mpi: Option<MpiPolicy>,
    /// JAX: the environment of `jax.distributed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jax: Option<JaxPolicy>,
    /// XGBoost: the environment of its tracker and workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub xgboost: Option<XgboostPolicy>,
    /// Flux: a Flux instance over the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flux: Option<FluxPolicy>,
    /// TensorFlow: `TF_CONFIG` for each pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tensorflow: Option<TensorflowPolicy>,
    /// PaddlePaddle: the environment of its launcher, or of its parameter servers and workers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paddle: Option<PaddlePolicy>,
    /// Any other framework: what its processes need, written by the author of the runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom: Option<CustomPolicy>,
}

/// PyTorch: the environment of torchrun.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TorchPolicy {
    /// Further containers that get the environment of torchrun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_injection: Option<EnvInjection>,
    /// Lets the run survive the loss of nodes. If absent, all nodes must run all the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elastic: Option<TorchElastic>,
}

/// Elastic torch: nodes find each other through torchrun's rendezvous, and may join and leave.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::min_to_max_nodes()))]
pub struct TorchElastic {
    /// Fewest nodes with which training continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 1))]
    pub min_nodes: Option<i32>,
    /// Most nodes that a TrainJob may request; any number if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub max_nodes: Option<i32>,
    /// How often torchrun restarts the processes after a failure, before it gives up. Nodes that join or leave do not
    /// count.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0), extend("default" = 3))]
    pub max_restarts: Option<i32>,
    /// Settings of the rendezvous, such as `join_timeout` or `last_call_timeout`, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rdzv_conf: Option<BTreeMap<String, String>>,
}

/// Further containers that get the environment of the framework.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvInjection {
    /// The containers, grouped by replicated job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["jobName"])
    )]
    pub targets: Option<Vec<EnvInjectionTarget>>,
}

/// Containers of one replicated job.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvInjectionTarget {
    /// Name of the replicated job.
    #[schemars(length(min = 1, max = 253))]
    pub job_name: String,
    /// Names of its containers or init containers; not the container `node`.
    #[schemars(
        length(min = 1, max = 8),
        inner(length(max = 63)),
        extend("x-kubernetes-list-type" = "set", "x-kubernetes-validations" = rules::not_the_node())
    )]
    pub container_names: Vec<String>,
}

/// MPI: a launcher that reaches the workers over SSH.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MpiPolicy {
    /// Number of processes on each node (slots of the hostfile).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 1))]
    pub num_proc_per_node: Option<i32>,
    /// MPI implementation of the image.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "OpenMPI", "enum" = ["OpenMPI", "Intel", "MPICH", ""]))]
    pub mpi_implementation: Option<String>,
    /// Directory of the SSH keys in the containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096), extend("default" = "/root/.ssh"))]
    pub ssh_auth_mount_path: Option<String>,
    /// Whether the launcher is a training node, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub run_launcher_as_node: Option<bool>,
}

/// JAX: the environment of `jax.distributed`. It has no fields.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub struct JaxPolicy {}

/// XGBoost: the environment of its tracker and workers. It has no fields.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub struct XgboostPolicy {}

/// Flux: a Flux instance over the nodes.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FluxPolicy {
    /// Number of tasks on each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("default" = 1))]
    pub num_proc_per_node: Option<i32>,
}

/// TensorFlow: `TF_CONFIG` for each pod.
///
/// A replicated job named `chief`, `master`, `worker`, `ps` or `evaluator` has that role. Otherwise the replicated job
/// that trains is a `worker`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TensorflowPolicy {
    /// Roles of replicated jobs with other names.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["replicatedJob"])
    )]
    pub roles: Option<Vec<TensorflowRole>>,
    /// Port at which the servers of all roles listen.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535), extend("default" = 2222))]
    pub port: Option<i32>,
    /// When the run succeeds: `Chief`, with the chief, or worker 0 without a chief; `AllWorkers`, with chief and all
    /// workers. A success policy of the runtime's template takes precedence.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Chief", "enum" = ["Chief", "AllWorkers"]))]
    pub success_policy: Option<String>,
    /// Lists only itself and the parameter servers to a worker, so that the number of workers may change.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub enable_dynamic_worker: Option<bool>,
}

/// The role of one replicated job in TensorFlow's cluster.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TensorflowRole {
    /// Name of the replicated job.
    #[schemars(length(min = 1, max = 253))]
    pub replicated_job: String,
    /// Its role.
    #[schemars(extend("enum" = ["chief", "master", "worker", "ps", "evaluator"]))]
    pub role: String,
}

/// PaddlePaddle. Without a replicated job in the role `server` the nodes train collectively; with one, they are
/// trainers and parameter servers.
///
/// A replicated job named `server`, `ps`, `trainer` or `worker` has that role. Otherwise the replicated job that trains
/// is a `trainer`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PaddlePolicy {
    /// Roles of replicated jobs with other names.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["replicatedJob"])
    )]
    pub roles: Option<Vec<PaddleRole>>,
    /// Port of the rendezvous, and of the parameter servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535), extend("default" = 37777))]
    pub port: Option<i32>,
}

/// The role of one replicated job in PaddlePaddle's parameter-server mode.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PaddleRole {
    /// Name of the replicated job.
    #[schemars(length(min = 1, max = 253))]
    pub replicated_job: String,
    /// Its role.
    #[schemars(extend("enum" = ["trainer", "server"]))]
    pub role: String,
}

/// Any other framework, by the variables of the nodes: `TRAINER_NODE_RANK`, `TRAINER_NUM_NODES`, `TRAINER_NUM_PROC_PER_NODE`, `TRAINER_WORLD_SIZE`, `TRAINER_MASTER_ADDR` and
/// `TRAINER_MASTER_PORT`; and, where something refers to them, `TRAINER_HOSTS`, and `TRAINER_HOSTS_<JOB>` and
/// `TRAINER_NUM_NODES_<JOB>` of a single replicated job. Entries of `env`, and commands and arguments, refer to them as
/// `$(TRAINER_NODE_RANK)`.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomPolicy {
    /// Port of the rendezvous; a port of the pods that train.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535), extend("default" = 29500))]
    pub port: Option<i32>,
    /// Default number of processes on each node; one for each requested accelerator if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub num_proc_per_node: Option<i32>,
    /// Environment of all nodes, after the variables above.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub env: Option<Vec<Raw<EnvVar>>>,
    /// A file that lists the nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_list: Option<HostList>,
    /// Additions for single replicated jobs. A replicated job that is listed here is a node even if it does not train.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["replicatedJob"])
    )]
    pub roles: Option<Vec<CustomRole>>,
}

/// A file that lists the nodes, mounted into all of them.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HostList {
    /// Absolute path of the file. Other files of its directory stay.
    #[schemars(length(min = 2, max = 4096), extend("pattern" = "^/.*[^/]$"))]
    pub path: String,
    /// Template of a line, with `$(HOST)`, `$(PORT)`, `$(RANK)` and `$(NUM_PROC_PER_NODE)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024), extend("default" = "$(HOST)"))]
    pub line: Option<String>,
    /// Replicated jobs that are listed, in this order; all that train if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), extend("x-kubernetes-list-type" = "set"))]
    pub replicated_jobs: Option<Vec<String>>,
}

/// Additions for one replicated job.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomRole {
    /// Name of the replicated job.
    #[schemars(length(min = 1, max = 253))]
    pub replicated_job: String,
    /// Its container; `node` or the only one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub container: Option<String>,
    /// Environment, after that of all nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub env: Option<Vec<Raw<EnvVar>>>,
    /// Ports of its container.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16), inner(range(min = 1, max = 65535)), extend("x-kubernetes-list-type" = "set"))]
    pub ports: Option<Vec<i32>>,
}

/// The gang scheduler that places the pods. At most one may be set.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::one_gang_scheduler()))]
pub struct PodGroupPolicy {
    /// The coscheduling plugin of scheduler-plugins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coscheduling: Option<CoschedulingPolicy>,
    /// Volcano.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volcano: Option<VolcanoPolicy>,
    /// Kubernetes' own gang scheduling: a Workload and a PodGroup of `scheduling.k8s.io`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadPolicy>,
}

/// Kubernetes' own gang scheduling.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadPolicy {
    /// Label of nodes, such as `topology.kubernetes.io/rack`, whose value must be the same for all nodes of the gang.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 317))]
    pub topology_key: Option<String>,
    /// PriorityClass of the gang and of its pods; the one that all its pods name if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub priority_class_name: Option<String>,
    /// Whether pods of the gang may be preempted one by one (`Single`) or only together (`All`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "All", "enum" = ["Single", "All"]))]
    pub disruption_mode: Option<String>,
}

/// The coscheduling plugin of scheduler-plugins.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CoschedulingPolicy {
    /// Seconds that a gang may wait for its last pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 60))]
    pub schedule_timeout_seconds: Option<i32>,
}

/// Volcano.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolcanoPolicy {
    /// How close to each other the pods are placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_topology: Option<NetworkTopology>,
}

/// How close to each other the pods are placed.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkTopology {
    /// Whether it is a requirement (`hard`) or a preference (`soft`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "hard", "enum" = ["hard", "soft"]))]
    pub mode: Option<String>,
    /// Highest tier of the network that the pods may span.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = rules::no_format, extend("default" = 1))]
    pub highest_tier_allowed: Option<i64>,
}
