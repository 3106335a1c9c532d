//! Every name, key, port and path of the wire, once.
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

/// Field manager of every object that is rendered.
pub const FIELD_MANAGER: &str = "trainer";
/// Value of `spec.managedBy` that means "this controller"; the default.
pub const MANAGED_BY_US: &str = "trainer.kubeflow.org/trainjob-controller";
/// Value of `spec.managedBy` that means "a MultiKueue worker cluster".
pub const MANAGED_BY_MULTIKUEUE: &str = "kueue.x-k8s.io/multikueue";
/// Finalizer of older releases; it is only ever removed.
pub const OLD_FINALIZER: &str = "trainer.kubeflow.org/resource-in-use";
/// `source.component` of the Events that are written.
pub const EVENT_SOURCE: &str = "trainer-trainjob-controller";
/// Namespace of the controller where the service-account file does not tell.
pub const DEFAULT_SYSTEM_NAMESPACE: &str = "kubeflow-system";

/// Label on a runtime's Job template that says which section of a TrainJob overrides it.
pub const ANCESTOR_LABEL: &str = "trainer.kubeflow.org/trainjob-ancestor-step";
/// Label of a runtime object that names its framework; read by the SDK.
pub const FRAMEWORK_LABEL: &str = "trainer.kubeflow.org/framework";
/// Label of a runtime object that tells how far it is supported.
pub const SUPPORT_LABEL: &str = "trainer.kubeflow.org/support";
/// Value of [`SUPPORT_LABEL`] for a runtime that will go away.
pub const SUPPORT_DEPRECATED: &str = "deprecated";
/// Label of a runtime object that switches admission checks of that runtime off when `disabled`.
pub const WEBHOOK_VALIDATION_LABEL: &str = "trainer.kubeflow.org/webhook-validation";
/// Label of the runtimes that the chart's installer owns.
pub const MANAGED_BY_LABEL: &str = "trainer.kubeflow.org/managed-by";
/// Value of [`MANAGED_BY_LABEL`].
pub const RUNTIMES_INSTALLER: &str = "runtimes-installer";
/// Page that deprecation warnings point to.
pub const DEPRECATION_POLICY_URL: &str =
    "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy";
/// Label by which Kueue takes a job into a queue.
pub const KUEUE_QUEUE_LABEL: &str = "kueue.x-k8s.io/queue-name";

/// Replicated job and container of the training nodes.
pub const NODE: &str = "node";
/// Replicated job of an MPI launcher.
pub const LAUNCHER: &str = "launcher";
/// Replicated job, container and ancestor value of the dataset initializer.
pub const DATASET_INITIALIZER: &str = "dataset-initializer";
/// Replicated job, container and ancestor value of the model initializer.
pub const MODEL_INITIALIZER: &str = "model-initializer";
/// Ancestor value of the training nodes.
pub const TRAINER: &str = "trainer";
/// Volume that initializers and trainers share.
pub const INITIALIZER_VOLUME: &str = "initializer";
/// Environment variable that tells an initializer what to fetch.
pub const STORAGE_URI: &str = "STORAGE_URI";
/// Scheme of a `storageUri` that is served from the data cache and mounts nothing.
pub const CACHE_SCHEME: &str = "cache";

/// Port of rank 0 at which the nodes meet; TCP.
pub const TRAINER_PORT: u16 = 29500;
/// Field of a pod that holds its rank within its Job.
pub const RANK_FIELD_PATH: &str = "metadata.annotations['batch.kubernetes.io/job-completion-index']";

/// Field of a pod that holds the index of its Job among those of its replicated job.
pub const JOB_INDEX_FIELD_PATH: &str = "metadata.labels['jobset.sigs.k8s.io/job-index']";

/// Suffix of the ConfigMap that keeps the runtime as it was at the first build.
pub const SNAPSHOT_SUFFIX: &str = "-runtime-snapshot";
/// Key of the snapshot ConfigMap.
pub const SNAPSHOT_KEY: &str = "runtime";
/// Annotation of a JobSet: the digest of the runtime snapshot that it was built from.
pub const SNAPSHOT_DIGEST_ANNOTATION: &str = "trainer.kubeflow.org/runtime-snapshot-digest";

/// ConfigMap in the controller's namespace that tells clients the version.
pub const PUBLIC_CONFIG_MAP: &str = "kubeflow-trainer-public";
/// Key of [`PUBLIC_CONFIG_MAP`].
pub const PUBLIC_VERSION_KEY: &str = "kubeflow_trainer_version";

/// Torch: number of nodes.
pub const PET_NNODES: &str = "PET_NNODES";
/// Torch: processes on each node.
pub const PET_NPROC_PER_NODE: &str = "PET_NPROC_PER_NODE";
/// Torch: rank of this node.
pub const PET_NODE_RANK: &str = "PET_NODE_RANK";
/// Torch: host name of node 0.
pub const PET_MASTER_ADDR: &str = "PET_MASTER_ADDR";
/// Torch: port of node 0.
pub const PET_MASTER_PORT: &str = "PET_MASTER_PORT";

/// Torch: how the nodes of an elastic run find each other.
pub const PET_RDZV_BACKEND: &str = "PET_RDZV_BACKEND";
/// Torch: where they do.
pub const PET_RDZV_ENDPOINT: &str = "PET_RDZV_ENDPOINT";
/// Torch: what they call their run.
pub const PET_RDZV_ID: &str = "PET_RDZV_ID";
/// Torch: settings of the rendezvous.
pub const PET_RDZV_CONF: &str = "PET_RDZV_CONF";
/// Torch: how often failed processes are started anew.
pub const PET_MAX_RESTARTS: &str = "PET_MAX_RESTARTS";

/// Torch: each start of the processes makes a store of its own, instead of keeping that of torchrun.
pub const TORCH_DISABLE_SHARE_RDZV_TCP_STORE: &str = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE";

/// JAX: number of processes.
pub const JAX_NUM_PROCESSES: &str = "JAX_NUM_PROCESSES";
/// JAX: index of this process.
pub const JAX_PROCESS_ID: &str = "JAX_PROCESS_ID";
/// JAX: host and port of process 0.
pub const JAX_COORDINATOR_ADDRESS: &str = "JAX_COORDINATOR_ADDRESS";

/// XGBoost: host of the tracker.
pub const DMLC_TRACKER_URI: &str = "DMLC_TRACKER_URI";
/// XGBoost: port of the tracker.
pub const DMLC_TRACKER_PORT: &str = "DMLC_TRACKER_PORT";
/// XGBoost: index of this pod.
pub const DMLC_TASK_ID: &str = "DMLC_TASK_ID";
/// XGBoost: number of workers.
pub const DMLC_NUM_WORKER: &str = "DMLC_NUM_WORKER";

/// TensorFlow: the cluster, and the task of this pod in it.
pub const TF_CONFIG: &str = "TF_CONFIG";
/// Port of TensorFlow's servers where the runtime does not say.
pub const TENSORFLOW_PORT: i32 = 2222;

/// Paddle: host and port of node 0, where the nodes meet.
pub const PADDLE_MASTER: &str = "PADDLE_MASTER";
/// Paddle: number of nodes.
pub const PADDLE_NNODES: &str = "PADDLE_NNODES";
/// Paddle: rank of this node.
pub const PADDLE_RANK: &str = "PADDLE_RANK";
/// Paddle: processes on each node.
pub const PADDLE_NPROC_PER_NODE: &str = "PADDLE_NPROC_PER_NODE";
/// Paddle: name of the run.
pub const PADDLE_JOB_ID: &str = "PADDLE_JOB_ID";
/// Paddle: the address by which others reach this pod.
pub const POD_IP: &str = "POD_IP";
/// Paddle: index of this trainer.
pub const PADDLE_TRAINER_ID: &str = "PADDLE_TRAINER_ID";
/// Paddle: number of trainers.
pub const PADDLE_TRAINERS_NUM: &str = "PADDLE_TRAINERS_NUM";
/// Paddle: addresses of the trainers, for the processes.
pub const PADDLE_TRAINER_ENDPOINTS: &str = "PADDLE_TRAINER_ENDPOINTS";
/// Paddle: address of this trainer.
pub const PADDLE_CURRENT_ENDPOINT: &str = "PADDLE_CURRENT_ENDPOINT";
/// Paddle: addresses of the trainers, for the launcher.
pub const PADDLE_TRAINERS_ENDPOINTS: &str = "PADDLE_TRAINERS_ENDPOINTS";
/// Paddle: addresses of the parameter servers, for the launcher.
pub const PADDLE_SERVERS_ENDPOINTS: &str = "PADDLE_SERVERS_ENDPOINTS";
/// Paddle: addresses of the parameter servers, for the processes.
pub const PADDLE_PSERVERS_IP_PORT_LIST: &str = "PADDLE_PSERVERS_IP_PORT_LIST";
/// Paddle: `TRAINER` or `PSERVER`.
pub const TRAINING_ROLE: &str = "TRAINING_ROLE";
/// Paddle: port at which this pod listens.
pub const PADDLE_PORT: &str = "PADDLE_PORT";
/// Port of Paddle's nodes where the runtime does not say.
pub const PADDLE_DEFAULT_PORT: i32 = 37777;

/// Start of the variables that any framework may be given.
pub const TRAINER_PREFIX: &str = "TRAINER_";
/// Index of this pod among those of its role.
pub const TRAINER_NODE_RANK: &str = "TRAINER_NODE_RANK";
/// Number of nodes that train.
pub const TRAINER_NUM_NODES: &str = "TRAINER_NUM_NODES";
/// Processes on each node.
pub const TRAINER_NUM_PROC_PER_NODE: &str = "TRAINER_NUM_PROC_PER_NODE";
/// Number of processes on all nodes.
pub const TRAINER_WORLD_SIZE: &str = "TRAINER_WORLD_SIZE";
/// Host name of node 0.
pub const TRAINER_MASTER_ADDR: &str = "TRAINER_MASTER_ADDR";
/// Port of node 0.
pub const TRAINER_MASTER_PORT: &str = "TRAINER_MASTER_PORT";
/// Host names of the nodes that train, or, with an underscore and a name, of a replicated job.
pub const TRAINER_HOSTS: &str = "TRAINER_HOSTS";
/// Suffix of the ConfigMap with the list of the nodes.
pub const HOST_LIST_SUFFIX: &str = "-host-list";
/// Volume of the list of the nodes.
pub const HOST_LIST_VOLUME: &str = "host-list";
/// Key of the list of the nodes.
pub const HOST_LIST_KEY: &str = "hosts";

/// Values of `mpiImplementation`; the first is the default.
pub const MPI_IMPLEMENTATIONS: [&str; 3] = ["OpenMPI", "Intel", "MPICH"];
/// Suffix of the Secret with the SSH keys of an MPI job.
pub const MPI_SSH_SECRET_SUFFIX: &str = "-mpi-ssh-auth";
/// Volume of the SSH keys.
pub const MPI_SSH_VOLUME: &str = "mpi-ssh-auth";
/// Where the SSH keys are mounted when the runtime does not say.
pub const MPI_SSH_PATH: &str = "/root/.ssh";
/// Suffix of the ConfigMap with the hostfile of an MPI job.
pub const MPI_HOSTFILE_SUFFIX: &str = "-mpi-hostfile";
/// Volume of the hostfile.
pub const MPI_HOSTFILE_VOLUME: &str = "mpi-hostfile";
/// Key, and name of the file.
pub const MPI_HOSTFILE: &str = "hostfile";
/// Folder of the hostfile in the launcher.
pub const MPI_CONFIG_PATH: &str = "/etc/mpi";

/// `apiVersion` of the PodGroup of the coscheduling plugin.
pub const COSCHEDULING_API_VERSION: &str = "scheduling.x-k8s.io/v1alpha1";
/// Label that makes a pod a member of a PodGroup of the coscheduling plugin.
pub const COSCHEDULING_LABEL: &str = "scheduling.x-k8s.io/pod-group";
/// `apiVersion` of Volcano's PodGroup.
pub const VOLCANO_API_VERSION: &str = "scheduling.volcano.sh/v1beta1";
/// Annotation that makes a pod a member of a PodGroup of Volcano.
pub const VOLCANO_GROUP_ANNOTATION: &str = "scheduling.k8s.io/group-name";
/// Annotation of a runtime's template that names the queue of Volcano.
pub const VOLCANO_QUEUE_ANNOTATION: &str = "scheduling.volcano.sh/queue-name";
/// Name of Volcano's scheduler.
pub const VOLCANO_SCHEDULER: &str = "volcano";
/// API group of Kubernetes' own PodGroup and Workload.
pub const SCHEDULING_GROUP: &str = "scheduling.k8s.io";
/// `apiVersion` of Kubernetes' own PodGroup and Workload.
pub const SCHEDULING_API_VERSION: &str = "scheduling.k8s.io/v1beta1";
/// Kind of a gang, in all three groups.
pub const POD_GROUP: &str = "PodGroup";
/// Kind that tells what the PodGroups of a job are like.
pub const WORKLOAD: &str = "Workload";
/// Name of the scheduler of pods that name none.
pub const DEFAULT_SCHEDULER: &str = "default-scheduler";
/// PriorityClasses that every cluster has.
pub const SYSTEM_PRIORITY_CLASSES: [&str; 2] = ["system-cluster-critical", "system-node-critical"];

/// Condition types, reasons and messages of a TrainJob; no others are ever written on a job that has a JobSet.
pub mod condition {
    /// Type: the job holds no pods on purpose.
    pub const SUSPENDED: &str = "Suspended";
    /// Type: the job ended well.
    pub const COMPLETE: &str = "Complete";
    /// Type: the job ended badly.
    pub const FAILED: &str = "Failed";
    /// Type: the job's objects could not be made; only there while no JobSet exists.
    pub const STALLED: &str = "Stalled";
    /// Reason of `Suspended` True.
    pub const REASON_SUSPENDED: &str = "Suspended";
    /// Reason of `Suspended` False.
    pub const REASON_RESUMED: &str = "Resumed";
    /// Reason of `Failed` when `activeDeadlineSeconds` have passed.
    pub const REASON_DEADLINE: &str = "DeadlineExceeded";
    /// Reason of `Failed` when the kind in `runtimeRef` is not known.
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
