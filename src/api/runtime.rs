//! `TrainingRuntime` and `ClusterTrainingRuntime`: the templates that platform admins keep.

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
    /// Which gang scheduler places the pods all at once or not at all.
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
    /// Number of training nodes of a TrainJob that names none; 1 where absent.
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
}

/// PyTorch: the environment of torchrun.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TorchPolicy {
    /// Further containers that get the environment of torchrun.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub env_injection: Option<EnvInjection>,
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
    /// Which MPI the image has.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "OpenMPI", "enum" = ["OpenMPI", ""]))]
    pub mpi_implementation: Option<String>,
    /// Folder of the SSH keys in the containers.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096), extend("default" = "/root/.ssh"))]
    pub ssh_auth_mount_path: Option<String>,
    /// Whether the launcher trains too.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub run_launcher_as_node: Option<bool>,
}

/// JAX: the environment of `jax.distributed`; nothing to set.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub struct JaxPolicy {}

/// XGBoost: the environment of its tracker and workers; nothing to set.
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

/// Which gang scheduler places the pods. At most one may be set.
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
    /// How near to each other the pods are to be placed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network_topology: Option<NetworkTopology>,
}

/// How near to each other the pods are to be placed.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NetworkTopology {
    /// Whether it is a demand (`hard`) or a wish (`soft`).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "hard", "enum" = ["hard", "soft"]))]
    pub mode: Option<String>,
    /// Highest tier of the network that the pods may span.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = rules::no_format, extend("default" = 1))]
    pub highest_tier_allowed: Option<i64>,
}
