//! All names, keys, ports and paths of the wire format. No other file spells one.
//!
//! Source of the rules: Kubeflow Trainer v2.3 (`trainer.kubeflow.org/v1alpha1`) and JobSet v1alpha2.

/// API group of the kinds that this program owns.
pub const GROUP: &str = "trainer.kubeflow.org";
/// Served and stored version of [`GROUP`].
pub const VERSION: &str = "v1alpha1";
/// `apiVersion` of the kinds that this program owns.
pub const API_VERSION: &str = "trainer.kubeflow.org/v1alpha1";

/// Kind of a training job.
pub const TRAIN_JOB: &str = "TrainJob";
/// Kind of a namespaced runtime.
pub const TRAINING_RUNTIME: &str = "TrainingRuntime";
/// Kind of a cluster-wide runtime.
pub const CLUSTER_TRAINING_RUNTIME: &str = "ClusterTrainingRuntime";

/// `apiVersion` of the JobSet that a TrainJob becomes.
pub const JOBSET_API_VERSION: &str = "jobset.x-k8s.io/v1alpha2";
/// API group of JobSet.
pub const JOBSET_GROUP: &str = "jobset.x-k8s.io";
/// Version of JobSet that is written and read.
pub const JOBSET_VERSION: &str = "v1alpha2";
/// Kind of a JobSet.
pub const JOBSET: &str = "JobSet";

/// Field manager of all objects that we write.
pub const FIELD_MANAGER: &str = "trainer";
/// Value of `spec.managedBy` that means "this controller"; the default.
pub const MANAGED_BY_US: &str = "trainer.kubeflow.org/trainjob-controller";
/// Value of `spec.managedBy` that means "a MultiKueue worker cluster".
pub const MANAGED_BY_MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";
/// Finalizer of older releases. It is removed, and never set.
pub const OLD_FINALIZER: &str = "trainer.kubeflow.org/resource-in-use";
/// `source.component` of our Events.
pub const EVENT_SOURCE: &str = "trainer-trainjob-controller";
/// Namespace of the controller if there is no service-account file.
pub const DEFAULT_SYSTEM_NAMESPACE: &str = "kubeflow-system";

/// Label of a runtime's Job template: the section of a TrainJob that overrides it.
pub const ANCESTOR_LABEL: &str = "trainer.kubeflow.org/trainjob-ancestor-step";
/// Label of a runtime object that names its framework; read by the SDK.
pub const FRAMEWORK_LABEL: &str = "trainer.kubeflow.org/framework";
/// Label of a runtime object: how far it is supported.
pub const SUPPORT_LABEL: &str = "trainer.kubeflow.org/support";
/// Value of [`SUPPORT_LABEL`] for a runtime that will be removed.
pub const SUPPORT_DEPRECATED: &str = "deprecated";
/// Label of a runtime object: `disabled` switches its admission checks off.
pub const WEBHOOK_VALIDATION_LABEL: &str = "trainer.kubeflow.org/webhook-validation";
/// Label of the runtimes that the chart's installer owns.
pub const MANAGED_BY_LABEL: &str = "trainer.kubeflow.org/managed-by";
/// Value of [`MANAGED_BY_LABEL`].
pub const RUNTIMES_INSTALLER: &str = "runtimes-installer";
/// Page that deprecation warnings point to.
pub const DEPRECATION_POLICY_URL: &str =
    "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy";
/// Label that puts a job into a queue of Kueue.
pub const KUEUE_QUEUE_LABEL: &str = "kueue.x-k8s.io/queue-name";

/// Replicated job and container of the training nodes.
pub const NODE: &str = "node";
/// Replicated job, container and ancestor value of the dataset initializer.
pub const DATASET_INITIALIZER: &str = "dataset-initializer";
/// Replicated job, container and ancestor value of the model initializer.
pub const MODEL_INITIALIZER: &str = "model-initializer";
/// Ancestor value of the training nodes.
pub const TRAINER: &str = "trainer";
/// Volume that initializers and trainers share.
pub const INITIALIZER_VOLUME: &str = "initializer";
/// Environment variable of an initializer: what to fetch.
pub const STORAGE_URI: &str = "STORAGE_URI";
/// Scheme of a `storageUri` that is served from the data cache and mounts nothing.
pub const CACHE_SCHEME: &str = "cache";

/// TCP port of rank 0 for the rendezvous of the nodes.
pub const TRAINER_PORT: i32 = 29500;
/// Field of a pod that holds its rank within its Job.
pub const RANK_FIELD_PATH: &str = "metadata.annotations['batch.kubernetes.io/job-completion-index']";

/// Field of a pod that holds the index of its Job among those of its replicated job.
pub const JOB_INDEX_FIELD_PATH: &str = "metadata.labels['jobset.sigs.k8s.io/job-index']";

/// Suffix of the ConfigMap with the runtime snapshot of a job.
pub const SNAPSHOT_SUFFIX: &str = "-runtime-snapshot";
/// Key of the snapshot ConfigMap.
pub const SNAPSHOT_KEY: &str = "runtime";
/// Annotation of a JobSet: the digest of the runtime snapshot that it was built from.
pub const SNAPSHOT_DIGEST_ANNOTATION: &str = "trainer.kubeflow.org/runtime-snapshot-digest";

/// ConfigMap in the controller's namespace with the version, for clients.
pub const PUBLIC_CONFIG_MAP: &str = "kubeflow-trainer-public";
/// Key of [`PUBLIC_CONFIG_MAP`].
pub const PUBLIC_VERSION_KEY: &str = "kubeflow_trainer_version";

/// Index of this pod among those of its role.
pub const TRAINER_NODE_RANK: &str = "TRAINER_NODE_RANK";

/// Kind of a gang, in all three groups.
pub const POD_GROUP: &str = "PodGroup";
/// Name of the default scheduler.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";
/// PriorityClasses that every cluster has.
pub const SYSTEM_PRIORITY_CLASSES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

/// Condition types, reasons and messages of a TrainJob. A job with a JobSet gets no others.
pub mod condition {
    /// Type: the job is suspended.
    pub const SUSPENDED: &str = "Suspended";
    /// Type: the job succeeded.
    pub const COMPLETE: &str = "Complete";
    /// Type: the job failed.
    pub const FAILED: &str = "Failed";
    /// Type: the job's objects could not be created; set only while there is no JobSet.
    pub const STALLED: &str = "Stalled";
    /// Reason of `Suspended` True.
    pub const REASON_SUSPENDED: &str = "Suspended";
    /// Reason of `Suspended` False.
    pub const REASON_RESUMED: &str = "Resumed";
    /// Reason of `Failed` when `activeDeadlineSeconds` have passed.
    pub const REASON_DEADLINE: &str = "DeadlineExceeded";
    /// Reason of `Failed` when the kind in `runtimeRef` is unknown.
    pub const REASON_RUNTIME_NOT_SUPPORTED: &str = "TrainingRuntimeNotSupported";
    /// Reason of `Failed` when the JobSet is gone and it is not known whether it had ended.
    pub const REASON_JOBSET_LOST: &str = "JobSetLost";
    /// Reason of `Stalled`, and of the Warning event about it.
    pub const REASON_RESOURCES: &str = "TrainJobResourcesCreationFailed";
    /// Message of `Suspended` True.
    pub const MESSAGE_SUSPENDED: &str = "TrainJob is suspended";
    /// Message of `Suspended` False.
    pub const MESSAGE_RESUMED: &str = "TrainJob is resumed";
    /// Message of `Failed` by deadline.
    pub const MESSAGE_DEADLINE: &str = "TrainJob exceeded its active deadline";
}
