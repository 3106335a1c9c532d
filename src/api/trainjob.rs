//! TrainJob: what a data scientist asks for.

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{
    Affinity, EnvVar, LocalObjectReference, PodSchedulingGate, PodSecurityContext, ResourceRequirements,
    SecurityContext, Toleration, Volume, VolumeMount,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::names;
use super::object::kubernetes_object;
use super::raw::Raw;
use super::rules;

/// A distributed training job: which runtime to use, and what differs from it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = rules::job_name()))]
pub struct TrainJob {
    /// Standard object metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The desired state of the job.
    pub spec: TrainJobSpec,
    /// The observed state of the job.
    #[serde(default)]
    #[schemars(extend("minProperties" = 1))]
    pub status: Option<TrainJobStatus>,
}

kubernetes_object!(
    TrainJob,
    "TrainJob",
    "trainjobs",
    "trainer.kubeflow.org",
    "v1alpha1",
    NamespaceResourceScope,
    [status]
);

/// The desired state of the job.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrainJobSpec {
    /// The runtime that this job is built from. Immutable.
    #[schemars(extend("x-kubernetes-validations" = rules::immutable_in_job()))]
    pub runtime_ref: RuntimeRef,
    /// Where the dataset and the model come from. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = rules::immutable_in_job()))]
    pub initializer: Option<Initializer>,
    /// What the training nodes run. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = rules::immutable_in_job()))]
    pub trainer: Option<Trainer>,
    /// Changes to the runtime, one entry for each manager, applied in list order.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["manager"])
    )]
    pub runtime_patches: Option<Vec<RuntimePatch>>,
    /// Whether the job is suspended: it has no pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = false))]
    pub suspend: Option<bool>,
    /// The controller that manages this job. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 253),
        extend(
            "default" = names::MANAGED_BY_US,
            "enum" = [names::MANAGED_BY_US, names::MANAGED_BY_MULTIKUEUE],
            "x-kubernetes-validations" = rules::immutable_in_job()
        )
    )]
    pub managed_by: Option<String>,
    /// Seconds that the job may run, counted from its creation or last resume, before it fails. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1), extend("x-kubernetes-validations" = rules::immutable_in_job()))]
    pub active_deadline_seconds: Option<i64>,
}

/// The runtime that a job is built from.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeRef {
    /// Name of the runtime.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// API group of the runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253), extend("default" = names::GROUP))]
    pub api_group: Option<String>,
    /// Kind of the runtime: `ClusterTrainingRuntime` or `TrainingRuntime` (of the job's namespace).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253), extend("default" = names::CLUSTER_TRAINING_RUNTIME))]
    pub kind: Option<String>,
}

impl RuntimeRef {
    /// Returns the API group; the default if it is absent.
    pub fn api_group(&self) -> &str {
        self.api_group.as_deref().unwrap_or(names::GROUP)
    }

    /// Returns the kind; the default if it is absent.
    pub fn kind(&self) -> &str {
        self.kind.as_deref().unwrap_or(names::CLUSTER_TRAINING_RUNTIME)
    }
}

/// Where the dataset and the model come from.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Initializer {
    /// The dataset to fetch before training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset: Option<InitializerSource>,
    /// The pre-trained model to fetch before training.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<InitializerSource>,
}

/// A dataset or model to fetch before training.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct InitializerSource {
    /// What to fetch, for instance `hf://org/name` or `s3://bucket/path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 2048), extend("x-kubernetes-validations" = rules::storage_uri()))]
    pub storage_uri: Option<String>,
    /// Environment variables of the initializer.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 128),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub env: Option<Vec<Raw<EnvVar>>>,
    /// Secret whose keys become environment variables of the initializer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<Raw<LocalObjectReference>>,
}

/// What the training nodes run. Fields that are absent keep the values of the runtime.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Trainer {
    /// Image of the training container.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 500))]
    pub image: Option<String>,
    /// Entry point of the training container.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 128),
        inner(length(max = 1_048_576)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub command: Option<Vec<String>>,
    /// Arguments of the entry point.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 128),
        inner(length(max = 1_048_576)),
        extend("x-kubernetes-list-type" = "atomic")
    )]
    pub args: Option<Vec<String>>,
    /// Environment variables of the training container.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 128),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub env: Option<Vec<Raw<EnvVar>>>,
    /// Number of training nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub num_nodes: Option<i32>,
    /// Resources of the training container on each node, merged by name over the runtime's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resources_per_node: Option<Raw<ResourceRequirements>>,
    /// Number of processes on each node.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub num_proc_per_node: Option<i32>,
}

/// The changes of one manager to the runtime.
#[derive(Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuntimePatch {
    /// Who makes the changes: a domain-prefixed path such as `example.com/team`. Immutable.
    #[schemars(length(min = 1, max = 253), extend("x-kubernetes-validations" = rules::immutable_in_patch()))]
    pub manager: String,
    /// When the entry was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<Time>,
    /// The changes, in the shape of a runtime's spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub training_runtime_spec: Option<Raw<TrainingRuntimeSpecPatch>>,
}

/// Changes to a runtime's spec.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrainingRuntimeSpecPatch {
    /// Changes to the JobSet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<JobSetTemplatePatch>,
}

/// Metadata that a patch may carry.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetadataPatch {
    /// Name; has no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Namespace; has no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Labels to add or replace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub labels: Option<BTreeMap<String, String>>,
    /// Annotations to add or replace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotations: Option<BTreeMap<String, String>>,
    /// Finalizers to add.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finalizers: Option<Vec<String>>,
}

/// Changes to the JobSet.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobSetTemplatePatch {
    /// Labels and annotations of the JobSet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MetadataPatch>,
    /// Changes to the JobSet's spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<JobSetSpecPatch>,
}

/// Changes to the JobSet's spec.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobSetSpecPatch {
    /// Changes to replicated jobs, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 100),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub replicated_jobs: Option<Vec<ReplicatedJobPatch>>,
}

/// Changes to one replicated job.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicatedJobPatch {
    /// Name of the replicated job in the runtime.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Changes to its Job template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<JobTemplatePatch>,
}

/// Changes to a Job template.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobTemplatePatch {
    /// Labels and annotations of the Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MetadataPatch>,
    /// Changes to the Job's spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<JobSpecPatch>,
}

/// Changes to a Job's spec.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobSpecPatch {
    /// Changes to the Pod template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<PodTemplatePatch>,
}

/// Changes to a Pod template.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodTemplatePatch {
    /// Labels and annotations of the pods.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MetadataPatch>,
    /// Changes to the pods' spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<PodSpecPatch>,
}

/// Changes to a Pod's spec.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodSpecPatch {
    /// Service account of the pods. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253), extend("x-kubernetes-validations" = rules::immutable_in_patch()))]
    pub service_account_name: Option<String>,
    /// Seconds that pods get to terminate gracefully. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0), extend("x-kubernetes-validations" = rules::immutable_in_patch()))]
    pub termination_grace_period_seconds: Option<i64>,
    /// Volumes to add, or to replace by name. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 128),
        extend(
            "x-kubernetes-list-type" = "map",
            "x-kubernetes-list-map-keys" = ["name"],
            "x-kubernetes-validations" = rules::immutable_in_patch()
        )
    )]
    pub volumes: Option<Vec<Volume>>,
    /// Changes to init containers, by name. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 64),
        extend(
            "x-kubernetes-list-type" = "map",
            "x-kubernetes-list-map-keys" = ["name"],
            "x-kubernetes-validations" = rules::immutable_in_patch()
        )
    )]
    pub init_containers: Option<Vec<ContainerPatch>>,
    /// Changes to containers, by name. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 64),
        extend(
            "x-kubernetes-list-type" = "map",
            "x-kubernetes-list-map-keys" = ["name"],
            "x-kubernetes-validations" = rules::immutable_in_patch()
        )
    )]
    pub containers: Option<Vec<ContainerPatch>>,
    /// Secrets for pulling images, added by name. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 64),
        extend(
            "x-kubernetes-list-type" = "map",
            "x-kubernetes-list-map-keys" = ["name"],
            "x-kubernetes-validations" = rules::immutable_in_patch()
        )
    )]
    pub image_pull_secrets: Option<Vec<LocalObjectReference>>,
    /// Security settings of the pods. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = rules::immutable_in_patch()))]
    pub security_context: Option<PodSecurityContext>,
    /// Labels that a node must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_selector: Option<BTreeMap<String, String>>,
    /// Scheduling preferences and requirements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub affinity: Option<Affinity>,
    /// Taints that the pods tolerate; replaces the whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 128), extend("x-kubernetes-list-type" = "atomic"))]
    pub tolerations: Option<Vec<Toleration>>,
    /// Gates that block the scheduling of the pods, added by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 16),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub scheduling_gates: Option<Vec<PodSchedulingGate>>,
}

/// Changes to one container.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ContainerPatch {
    /// Name of the container in the runtime.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Environment variables to add or replace. Not for containers that other sections of the job override.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 128),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub env: Option<Vec<EnvVar>>,
    /// Volume mounts to add or replace.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 128),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub volume_mounts: Option<Vec<VolumeMount>>,
    /// Security settings of the container.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security_context: Option<SecurityContext>,
}

/// The observed state of the job.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrainJobStatus {
    /// Suspended, Complete and Failed, in order of first appearance.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 8),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"])
    )]
    pub conditions: Option<Vec<Condition>>,
    /// One entry for each replicated job, counting its Jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 100),
        extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"])
    )]
    pub jobs_status: Option<Vec<JobStatus>>,
    /// What the training program reported.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = rules::last_updated()))]
    pub trainer_status: Option<TrainerStatus>,
}

/// Counts of the Jobs of one replicated job; all five are always set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobStatus {
    /// Name of the replicated job.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Jobs whose pods are ready.
    #[schemars(range(min = 0))]
    pub ready: i32,
    /// Jobs that succeeded.
    #[schemars(range(min = 0))]
    pub succeeded: i32,
    /// Jobs that failed.
    #[schemars(range(min = 0))]
    pub failed: i32,
    /// Jobs that have at least one pod running or pending.
    #[schemars(range(min = 0))]
    pub active: i32,
    /// Jobs that are suspended.
    #[schemars(range(min = 0))]
    pub suspended: i32,
}

/// What the training program reported.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TrainerStatus {
    /// Progress of the training, in percent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub progress_percentage: Option<i32>,
    /// Estimated remaining seconds of the training.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub estimated_remaining_seconds: Option<i32>,
    /// Latest values of the metrics.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 256), extend("x-kubernetes-list-type" = "atomic"))]
    pub metrics: Option<Vec<Metric>>,
    /// When the program reported this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated_time: Option<Time>,
}

/// One metric of the training program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Metric {
    /// Name of the metric.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// Its value, as text.
    #[schemars(length(min = 1, max = 64))]
    pub value: String,
}

impl TrainJob {
    /// Reports whether the job is to be suspended.
    pub fn suspended(&self) -> bool {
        self.spec.suspend.unwrap_or(false)
    }

    /// Reports whether this controller manages the job.
    pub fn is_ours(&self) -> bool {
        self.spec
            .managed_by
            .as_deref()
            .is_none_or(|by| by == names::MANAGED_BY_US)
    }

    /// Reports whether the job is in a queue of Kueue.
    pub fn queued(&self) -> bool {
        let labels = self.metadata.labels.as_ref();
        labels.is_some_and(|labels| labels.contains_key(names::KUEUE_QUEUE_LABEL))
    }

    /// Finds a condition of the status by its type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.status
            .as_ref()?
            .conditions
            .as_ref()?
            .iter()
            .find(|c| c.type_ == kind)
    }

    /// Reports whether a condition of the status is True.
    pub fn has(&self, kind: &str) -> bool {
        self.condition(kind).is_some_and(|c| c.status == "True")
    }

    /// Reports whether the job is Complete or Failed; both are final.
    pub fn finished(&self) -> bool {
        self.has(names::condition::COMPLETE) || self.has(names::condition::FAILED)
    }

    /// Reports whether this job controls an object, by UID: an older job of the same name does not.
    pub fn controls(&self, object: &ObjectMeta) -> bool {
        let owners = object.owner_references.as_deref().unwrap_or_default();
        let controller = owners.iter().find(|owner| owner.controller == Some(true));
        controller.is_some_and(|owner| owner.uid == self.metadata.uid.as_deref().unwrap_or_default())
    }

    /// Returns the name; empty if it is absent.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Returns `spec.trainer.numNodes`.
    pub fn num_nodes(&self) -> Option<i64> {
        self.spec.trainer.as_ref()?.num_nodes.map(i64::from)
    }

    /// Returns `spec.trainer.numProcPerNode`.
    pub fn num_proc_per_node(&self) -> Option<i64> {
        self.spec.trainer.as_ref()?.num_proc_per_node.map(i64::from)
    }

    /// Returns `spec.trainer.command`. An empty one differs from an absent one.
    pub fn command(&self) -> Option<&[String]> {
        self.spec.trainer.as_ref()?.command.as_deref()
    }

    /// Returns `spec.trainer.args`. An empty list differs from an absent one.
    pub fn args(&self) -> Option<&[String]> {
        self.spec.trainer.as_ref()?.args.as_deref()
    }

    /// Returns `spec.trainer.env`; empty if it is absent.
    pub fn trainer_env(&self) -> &[Raw<EnvVar>] {
        self.spec
            .trainer
            .as_ref()
            .and_then(|trainer| trainer.env.as_deref())
            .unwrap_or_default()
    }

    /// Returns `spec.runtimePatches`; empty if it is absent.
    pub fn runtime_patches(&self) -> &[RuntimePatch] {
        self.spec.runtime_patches.as_deref().unwrap_or_default()
    }
}
