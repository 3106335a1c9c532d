//! A replicated job as it is written: where a JobSet, or the template of a runtime, has its parts.
//!
//! The one place for these paths. Knows JSON of any shape: a part that is missing, or is something else, is empty.

use serde_json::{Map, Value};

use crate::api::names;
use crate::k8s::json as k8s_json;

/// Path of a Pod's spec within a replicated job.
const POD_SPEC: [&str; 4] = ["template", "spec", "template", "spec"];
/// Path of a Pod's metadata within a replicated job.
const POD_METADATA: [&str; 4] = ["template", "spec", "template", "metadata"];
/// Path of the replicated jobs of a runtime, as messages show it.
pub(super) const REPLICATED_JOBS: &str = "spec.template.spec.replicatedJobs";
/// Path of a Pod's spec within a replicated job, as messages show it.
pub(super) const POD_FIELD: &str = "template.spec.template.spec";
/// Path of the containers within a replicated job, as messages show it.
pub(super) const CONTAINERS_FIELD: &str = "template.spec.template.spec.containers";

/// The section of a TrainJob that overrides a replicated job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Section {
    /// `spec.trainer`.
    Trainer,
    /// `spec.initializer.dataset`.
    DatasetInitializer,
    /// `spec.initializer.model`.
    ModelInitializer,
}

impl Section {
    /// Finds the section that a value of the ancestor label stands for.
    fn from_label(label: &str) -> Option<Self> {
        match label {
            names::TRAINER => Some(Self::Trainer),
            names::DATASET_INITIALIZER => Some(Self::DatasetInitializer),
            names::MODEL_INITIALIZER => Some(Self::ModelInitializer),
            _ => None,
        }
    }

    /// Returns the value of the ancestor label.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::Trainer => names::TRAINER,
            Self::DatasetInitializer => names::DATASET_INITIALIZER,
            Self::ModelInitializer => names::MODEL_INITIALIZER,
        }
    }

    /// Returns the name of the container that the section overrides.
    pub(super) fn container(self) -> &'static str {
        match self {
            Self::Trainer => names::NODE,
            Self::DatasetInitializer => names::DATASET_INITIALIZER,
            Self::ModelInitializer => names::MODEL_INITIALIZER,
        }
    }
}

/// A replicated job as it is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplicatedJobSpec<'a>(&'a Value);

impl<'a> ReplicatedJobSpec<'a> {
    /// Takes an item of a list of replicated jobs.
    pub(super) fn new(item: &'a Value) -> Self {
        Self(item)
    }

    /// Lists the replicated jobs of a JobSet, or of a template of one.
    pub(super) fn list(jobset: &'a Value) -> impl Iterator<Item = Self> + Clone {
        k8s_json::list(jobset, &["spec", "replicatedJobs"])
            .iter()
            .map(Self)
    }

    /// Returns the name; empty where there is none.
    pub(super) fn name(self) -> &'a str {
        k8s_json::name(self.0).unwrap_or_default()
    }

    /// Returns the value of the ancestor label.
    pub(super) fn ancestor(self) -> Option<&'a str> {
        k8s_json::text(self.0, &["template", "metadata", "labels", names::ANCESTOR_LABEL])
    }

    /// Returns the section that overrides the replicated job.
    pub(super) fn section(self) -> Option<Section> {
        self.ancestor().and_then(Section::from_label)
    }

    /// Reports whether the replicated job is labelled as the one that trains.
    pub(super) fn trains(self) -> bool {
        self.section() == Some(Section::Trainer)
    }

    /// Returns the number of its Jobs as it is written.
    pub(super) fn replicas(self) -> Option<&'a Value> {
        self.0.get("replicas").filter(|replicas| !replicas.is_null())
    }

    /// Returns the number of Pods of each of its Jobs.
    pub(super) fn parallelism(self) -> Option<i64> {
        k8s_json::at(self.0, &["template", "spec", "parallelism"])?.as_i64()
    }

    /// Returns the completion mode of its Jobs.
    pub(super) fn completion_mode(self) -> Option<&'a str> {
        k8s_json::text(self.0, &["template", "spec", "completionMode"])
    }

    /// Lists what it waits for.
    pub(super) fn depends_on(self) -> &'a [Value] {
        k8s_json::list(self.0, &["dependsOn"])
    }

    /// Looks up a label of its Pods.
    pub(super) fn pod_label(self, key: &str) -> Option<&'a Value> {
        k8s_json::at(self.0, &POD_METADATA)?.get("labels")?.get(key)
    }

    /// Returns the spec of its Pods; null where there is none.
    pub(super) fn pod(self) -> &'a Value {
        k8s_json::at(self.0, &POD_SPEC).unwrap_or(&Value::Null)
    }

    /// Returns the name of the PriorityClass of its Pods.
    pub(super) fn priority_class(self) -> Option<&'a str> {
        self.named_by_pods("priorityClassName")
    }

    /// Returns the name of the RuntimeClass of its Pods.
    pub(super) fn runtime_class(self) -> Option<&'a str> {
        self.named_by_pods("runtimeClassName")
    }

    /// Returns the name of the scheduler of its Pods.
    pub(super) fn scheduler(self) -> Option<&'a str> {
        self.named_by_pods("schedulerName")
    }

    fn named_by_pods(self, field: &str) -> Option<&'a str> {
        k8s_json::text(self.pod(), &[field]).filter(|name| !name.is_empty())
    }

    /// Lists the containers of its Pods.
    pub(super) fn containers(self) -> &'a [Value] {
        k8s_json::list(self.pod(), &["containers"])
    }

    /// Finds a container of its Pods.
    pub(super) fn container(self, name: &str) -> Option<&'a Value> {
        k8s_json::named(self.containers(), name)
    }

    /// Lists the names of the containers of its Pods.
    pub(super) fn container_names(self) -> impl Iterator<Item = &'a str> {
        self.containers().iter().filter_map(k8s_json::name)
    }

    /// Lists the names of the containers and init containers of its Pods.
    pub(super) fn any_container_names(self) -> impl Iterator<Item = &'a str> {
        let init = k8s_json::list(self.pod(), &["initContainers"]);
        self.container_names()
            .chain(init.iter().filter_map(k8s_json::name))
    }

    /// Finds the container that runs the program of a role: `wanted`, else the only one, else `node`.
    pub(super) fn program(self, wanted: Option<&str>) -> Option<&'a str> {
        let find = |name: &str| self.container(name).and_then(k8s_json::name);
        match (wanted, self.containers()) {
            (Some(wanted), _) => find(wanted),
            (None, [only]) => k8s_json::name(only),
            (None, _) => find(names::NODE),
        }
    }
}

/// Returns the spec of the Jobs of a replicated job, to change it; makes it where it is missing.
pub(super) fn job_spec_mut(item: &mut Value) -> &mut Map<String, Value> {
    k8s_json::object_mut(item, &["template", "spec"])
}

/// Finds the spec of the Pods of a replicated job, to change it.
pub(super) fn find_pod_mut(item: &mut Value) -> Option<&mut Map<String, Value>> {
    let pod = POD_SPEC.iter().try_fold(item, |value, step| value.get_mut(*step));
    pod?.as_object_mut()
}

/// Returns the spec of the Pods of a replicated job, to change it; makes it where it is missing.
pub(super) fn pod_mut(item: &mut Value) -> &mut Map<String, Value> {
    k8s_json::object_mut(item, &POD_SPEC)
}

/// Returns a map of the metadata of the Pods of a replicated job, such as its labels, to change it.
pub(super) fn pod_metadata_mut<'a>(item: &'a mut Value, map: &str) -> &'a mut Map<String, Value> {
    let [template, spec, pod, metadata] = POD_METADATA;
    k8s_json::object_mut(item, &[template, spec, pod, metadata, map])
}
