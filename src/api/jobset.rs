//! JobSet (`jobset.x-k8s.io/v1alpha2`): the shape of its spec, for the schema of runtimes, and the part of its status
//! that we read. A JobSet's spec is passed on as JSON, so that fields of newer releases reach it.

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::batch::v1::JobTemplateSpec;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::object::kubernetes_object;
use super::raw::Raw;
use super::rules;
use super::trainjob::{JobStatus, MetadataPatch};

/// A group of Jobs that run as one. Each TrainJob has one.
#[derive(Clone, Debug, Deserialize)]
pub struct JobSet {
    /// Standard object metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The spec as it is stored.
    pub spec: Raw<JobSetSpec>,
    /// The status, as far as we read it.
    #[serde(default)]
    pub status: Option<JobSetStatus>,
}

kubernetes_object!(
    JobSet,
    "JobSet",
    "jobsets",
    "jobset.x-k8s.io",
    "v1alpha2",
    NamespaceResourceScope,
    [status]
);

impl JobSet {
    /// Reports whether the JobSet is suspended.
    pub fn suspended(&self) -> bool {
        self.spec
            .get("suspend")
            .and_then(serde_json::Value::as_bool)
            .unwrap_or(false)
    }
}

/// The status of a JobSet, as far as we read it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct JobSetStatus {
    /// Conditions; `Completed` and `Failed` matter here.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// Counts of Jobs, one entry for each replicated job.
    #[serde(default)]
    pub replicated_jobs_status: Vec<JobStatus>,
}

/// A JobSet's metadata and spec within a runtime.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobSetTemplateSpec {
    /// Labels and annotations of the JobSet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MetadataPatch>,
    /// Spec of the JobSet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<JobSetSpec>,
}

/// Spec of a JobSet.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::order_or_dependencies()))]
pub struct JobSetSpec {
    /// The Jobs, in groups of equal ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    pub replicated_jobs: Option<Vec<ReplicatedJob>>,
    /// DNS of the pods. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = rules::immutable_in_runtime()))]
    pub network: Option<Network>,
    /// When the JobSet succeeds. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = rules::immutable_in_runtime()))]
    pub success_policy: Option<SuccessPolicy>,
    /// What is done when a Job fails. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = rules::immutable_in_runtime()))]
    pub failure_policy: Option<FailurePolicy>,
    /// In which order the replicated jobs start. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = rules::immutable_in_runtime()))]
    pub startup_policy: Option<StartupPolicy>,
    /// Whether the JobSet is suspended. The `suspend` of a TrainJob replaces it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// The pod that the others find by a label and annotation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coordinator: Option<Coordinator>,
    /// The controller that manages the JobSet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed_by: Option<String>,
    /// Seconds from the end of the JobSet until it is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ttl_seconds_after_finished: Option<i32>,
    /// Volume claims that the Jobs share. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 50),
        extend(
            "x-kubernetes-list-type" = "atomic",
            "x-kubernetes-validations" = rules::immutable_in_runtime()
        )
    )]
    pub volume_claim_policies: Option<Vec<VolumeClaimPolicy>>,
}

/// A group of equal Jobs.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplicatedJob {
    /// Name of the group; part of the pods' names.
    pub name: String,
    /// Group of replicated jobs that this one belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "default"))]
    pub group_name: Option<String>,
    /// Template of the Jobs.
    pub template: JobTemplateSpec,
    /// Number of Jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = 1))]
    pub replicas: Option<i32>,
    /// Replicated jobs that must be ready or complete before this one starts. Immutable.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        length(max = 5),
        extend(
            "x-kubernetes-list-type" = "map",
            "x-kubernetes-list-map-keys" = ["name"],
            "x-kubernetes-validations" = rules::immutable_in_runtime()
        )
    )]
    pub depends_on: Option<Vec<DependsOn>>,
}

/// A replicated job that must be ready or complete.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DependsOn {
    /// Name of the other replicated job.
    pub name: String,
    /// `Ready` or `Complete`.
    #[schemars(extend("enum" = ["Ready", "Complete"]))]
    pub status: String,
}

/// DNS of the pods.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// Whether pods get host names in DNS.
    #[serde(skip_serializing_if = "Option::is_none", rename = "enableDNSHostnames")]
    pub enable_dns_hostnames: Option<bool>,
    /// Subdomain of the pods' host names; the JobSet's name if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subdomain: Option<String>,
    /// Whether pods are in DNS before they are ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish_not_ready_addresses: Option<bool>,
}

/// When the JobSet succeeds.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SuccessPolicy {
    /// Whether all or any of the targets must succeed.
    #[schemars(extend("enum" = ["All", "Any"]))]
    pub operator: String,
    /// The replicated jobs that count; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub target_replicated_jobs: Option<Vec<String>>,
}

/// What is done when a Job fails.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailurePolicy {
    /// How often the JobSet may restart.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_restarts: Option<i32>,
    /// How the Jobs are recreated.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Recreate", "enum" = ["Recreate", "BlockingRecreate", "InPlaceRestart"]))]
    pub restart_strategy: Option<String>,
    /// Rules; the first that matches decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<FailurePolicyRule>>,
}

/// The action on one kind of failure.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FailurePolicyRule {
    /// Name of the rule.
    pub name: String,
    /// The action.
    #[schemars(
        extend(
            "enum" = [
                "FailJobSet",
                "RestartJobSet",
                "RestartJobSetAndIgnoreMaxRestarts",
                "RestartJob",
                "RestartJobAndIgnoreMaxRestarts",
            ]
        )
    )]
    pub action: String,
    /// Reasons of a Job's failure that match; any if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_job_failure_reasons: Option<Vec<String>>,
    /// Patterns of a Job's failure message that match; any if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_job_failure_message_patterns: Option<Vec<String>>,
    /// Replicated jobs that the rule is about; all if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub target_replicated_jobs: Option<Vec<String>>,
}

/// In which order the replicated jobs start.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StartupPolicy {
    /// `AnyOrder` or `InOrder`.
    #[schemars(extend("enum" = ["AnyOrder", "InOrder"]))]
    pub startup_policy_order: String,
}

/// The pod that the others find by a label and annotation.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Coordinator {
    /// Its replicated job.
    pub replicated_job: String,
    /// Index of its Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = rules::no_format)]
    pub job_index: Option<i64>,
    /// Index of the pod in its Job.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(transform = rules::no_format)]
    pub pod_index: Option<i64>,
}

/// Volume claims that the Jobs share.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = rules::claims_without_namespace()))]
pub struct VolumeClaimPolicy {
    /// Templates of the claims; pods mount them by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 50), extend("x-kubernetes-list-type" = "atomic"))]
    pub templates: Option<Vec<PersistentVolumeClaim>>,
    /// What happens to the claims.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retention_policy: Option<VolumeClaimRetentionPolicy>,
}

/// What happens to the claims.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VolumeClaimRetentionPolicy {
    /// `Delete` or `Retain`, when the JobSet is deleted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("default" = "Delete", "enum" = ["Delete", "Retain"]))]
    pub when_deleted: Option<String>,
}
