//! What the decision is made from: the job, its runtime, and what is known of the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, LimitRange};
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::replicated_job::ReplicatedJobSpec;
use crate::api::{
    ClusterTrainingRuntime, JobSet, TrainJob, TrainingRuntime, TrainingRuntimeSpec, names,
    trainjob::RuntimeRef,
};

/// A job, and what decides which runtime it is built from.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    /// The job to build.
    pub job: &'a TrainJob,
    /// The live runtime that the job names; `None` when it does not exist.
    pub runtime: Option<Arc<Runtime>>,
    /// Settings of the program.
    pub config: &'a Config,
    /// What exists of the job.
    pub observed: Observed,
}

/// Settings of the program that a plan depends on: the same everywhere it runs for one cluster.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Names of resources that count whole accelerators, beside those that are known.
    pub accelerators: Vec<String>,
}

/// What exists of a job. The default means "nothing exists yet".
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The job's JobSet.
    pub jobset: Option<JobSet>,
    /// The last state of the job's JobSet, if it was seen to be deleted before it had ended.
    pub deleted: Option<JobSet>,
    /// The ConfigMap of the job's runtime snapshot.
    pub snapshot: Option<ConfigMap>,
}

/// Facts of the cluster that a gang depends on; see [`super::RequiredFacts`].
#[derive(Clone, Debug, Default)]
pub struct ClusterFacts {
    /// RuntimeClasses.
    pub runtime_classes: Vec<RuntimeClass>,
    /// LimitRanges of the job's namespace.
    pub limit_ranges: Vec<LimitRange>,
    /// PriorityClasses by name; one that is not here does not exist.
    pub priority_classes: BTreeMap<String, Known>,
}

/// What is known of an object that was looked up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Known {
    /// It exists.
    Exists,
    /// It could not be looked up, for this reason.
    Unknown(String),
}

/// The two kinds of runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuntimeKind {
    /// `TrainingRuntime`, looked up in the job's namespace.
    Namespaced,
    /// `ClusterTrainingRuntime`.
    Cluster,
}

impl RuntimeKind {
    /// Finds the kind that a reference names; `None` for kinds and groups that do not exist.
    pub fn of(reference: &RuntimeRef) -> Option<Self> {
        if reference.api_group() != names::GROUP {
            return None;
        }
        Self::from_name(reference.kind())
    }

    /// Finds a kind by its name.
    pub fn from_name(kind: &str) -> Option<Self> {
        match kind {
            names::TRAINING_RUNTIME => Some(Self::Namespaced),
            names::CLUSTER_TRAINING_RUNTIME => Some(Self::Cluster),
            _ => None,
        }
    }

    /// Gives the kind as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Self::Namespaced => names::TRAINING_RUNTIME,
            Self::Cluster => names::CLUSTER_TRAINING_RUNTIME,
        }
    }
}

/// A runtime of either kind.
#[derive(Clone, Debug)]
pub struct Runtime {
    /// Which of the two kinds it is.
    pub kind: RuntimeKind,
    /// Its metadata.
    pub metadata: ObjectMeta,
    /// Its template.
    pub spec: TrainingRuntimeSpec,
}

impl Runtime {
    /// Gives the name, empty where there is none.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// Returns the template of the JobSet; null where there is none.
    pub(super) fn template(&self) -> &Value {
        self.spec
            .template
            .as_ref()
            .map_or(&Value::Null, |template| template.value())
    }

    /// Lists the replicated jobs of the template.
    pub(super) fn replicated_jobs(&self) -> impl Iterator<Item = ReplicatedJobSpec<'_>> + Clone {
        ReplicatedJobSpec::list(self.template())
    }

    /// Looks one of the runtime object's own labels up.
    pub fn label(&self, key: &str) -> Option<&str> {
        self.metadata.labels.as_ref()?.get(key).map(String::as_str)
    }

    /// Tells whether the runtime is labelled as deprecated.
    pub fn deprecated(&self) -> bool {
        self.label(names::SUPPORT_LABEL) == Some(names::SUPPORT_DEPRECATED)
    }
}

impl From<TrainingRuntime> for Runtime {
    fn from(runtime: TrainingRuntime) -> Self {
        Self {
            kind: RuntimeKind::Namespaced,
            metadata: runtime.metadata,
            spec: runtime.spec.unwrap_or_default(),
        }
    }
}

impl From<ClusterTrainingRuntime> for Runtime {
    fn from(runtime: ClusterTrainingRuntime) -> Self {
        Self {
            kind: RuntimeKind::Cluster,
            metadata: runtime.metadata,
            spec: runtime.spec.unwrap_or_default(),
        }
    }
}
