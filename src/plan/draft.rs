//! The JobSet in the making: one copy of the pods, and for each replicated job what the stages must know of it.

use std::fmt::Display;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Map, Value, json};

use super::frameworks::{Framework, Part};
use super::trace::{Stage, Trace};
use super::{Config, NewSecret, Runtime};
use crate::api::{TrainJob, names};
use crate::k8s::json as k8s_json;

/// Path of a Pod's spec within a replicated job.
const POD_SPEC: [&str; 4] = ["template", "spec", "template", "spec"];

/// Which section of the TrainJob a replicated job answers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Trainer,
    DatasetInitializer,
    ModelInitializer,
    /// No section, or a label value that means nothing here.
    Other,
}

impl Role {
    fn of(replicated_job: &Value) -> Self {
        let label = ["template", "metadata", "labels", names::ANCESTOR_LABEL];
        match k8s_json::text(replicated_job, &label) {
            Some(names::TRAINER) => Self::Trainer,
            Some(names::DATASET_INITIALIZER) => Self::DatasetInitializer,
            Some(names::MODEL_INITIALIZER) => Self::ModelInitializer,
            _ => Self::Other,
        }
    }

    /// Gives the container that the section overrides.
    pub(super) fn container(self) -> Option<&'static str> {
        match self {
            Self::Trainer => Some(names::NODE),
            Self::DatasetInitializer => Some(names::DATASET_INITIALIZER),
            Self::ModelInitializer => Some(names::MODEL_INITIALIZER),
            Self::Other => None,
        }
    }
}

/// One replicated job: an index into the draft, and facts.
#[derive(Clone, Debug)]
pub(super) struct PodSet {
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) role: Role,
    /// Pods of each of its Jobs.
    pub(super) count: i64,
    /// Where that number comes from.
    pub(super) count_why: &'static str,
    /// Number of Jobs.
    pub(super) replicas: i64,
}

impl PodSet {
    /// Gives the number of all its pods.
    pub(super) fn pods(&self) -> i64 {
        self.replicas.saturating_mul(self.count)
    }
}

/// The working state that the stages pass on.
pub(super) struct Draft<'a> {
    pub(super) job: &'a TrainJob,
    pub(super) runtime: &'a Runtime,
    pub(super) config: &'a Config,
    /// `metadata` (labels and annotations) and `spec`.
    pub(super) jobset: Value,
    pub(super) sets: Vec<PodSet>,
    pub(super) secrets: Vec<NewSecret>,
    pub(super) config_maps: Vec<ConfigMap>,
    pub(super) warnings: Vec<String>,
    traced: bool,
    trace: Trace,
    reasons: Vec<(String, String)>,
}

/// What the stages have made.
pub(super) struct Finished {
    pub(super) jobset: Value,
    pub(super) secrets: Vec<NewSecret>,
    pub(super) config_maps: Vec<ConfigMap>,
    pub(super) warnings: Vec<String>,
    pub(super) trace: Trace,
}

impl<'a> Draft<'a> {
    /// Starts from the runtime's template.
    pub(super) fn new(job: &'a TrainJob, runtime: &'a Runtime, config: &'a Config, traced: bool) -> Self {
        let template = runtime.spec.template.as_ref().map_or(&Value::Null, |t| t.value());
        let mut jobset = json!({});
        for kind in ["labels", "annotations"] {
            if let Some(Value::Object(map)) = k8s_json::at(template, &["metadata", kind]) {
                k8s_json::object_mut(&mut jobset, &["metadata"]).insert(kind.to_owned(), map.clone().into());
            }
        }
        let spec = template.get("spec").filter(|s| s.is_object()).cloned();
        k8s_json::object_mut(&mut jobset, &[]).insert("spec".to_owned(), spec.unwrap_or_else(|| json!({})));

        let mut draft = Self {
            job,
            runtime,
            config,
            jobset,
            sets: Vec::new(),
            secrets: Vec::new(),
            config_maps: Vec::new(),
            warnings: Vec::new(),
            traced,
            trace: Trace::default(),
            reasons: Vec::new(),
        };
        if traced {
            let stage = Stage::Runtime {
                runtime: format!("{} {}", runtime.kind.name(), runtime.name()),
            };
            draft.trace.record(&stage, &Value::Null, &draft.jobset, &[]);
        }
        draft.survey();
        draft
    }

    /// Looks at the replicated jobs anew, after their list has changed.
    pub(super) fn survey(&mut self) {
        let whole = |value: Option<&Value>, default: i64| value.and_then(Value::as_i64).unwrap_or(default);
        self.sets = self
            .replicated_jobs()
            .iter()
            .enumerate()
            .map(|(index, rjob)| PodSet {
                index,
                name: k8s_json::name(rjob).unwrap_or_default().to_owned(),
                role: Role::of(rjob),
                count: whole(k8s_json::at(rjob, &["template", "spec", "parallelism"]), 1).max(1),
                count_why: "the runtime's parallelism, completions follow it",
                replicas: whole(rjob.get("replicas"), 1),
            })
            .collect();
    }

    /// Runs one stage and notes what it changed.
    pub(super) fn stage<T>(&mut self, stage: &Stage, run: impl FnOnce(&mut Self) -> T) -> T {
        if !self.traced {
            return run(self);
        }
        let before = self.jobset.clone();
        let result = run(self);
        let reasons = std::mem::take(&mut self.reasons);
        self.trace.record(stage, &before, &self.jobset, &reasons);
        result
    }

    /// Tells what led to a value that the running stage sets; `path` is the end of its path in the JobSet.
    pub(super) fn because(&mut self, path: impl Into<String>, why: impl FnOnce() -> String) {
        if self.traced {
            self.reasons.push((path.into(), why()));
        }
    }

    /// Tells what led to an environment variable that the running stage sets.
    pub(super) fn because_env(&mut self, name: &str, why: &str) {
        self.because(format!("env[{name}]"), || why.to_owned());
    }

    /// Ends the work.
    pub(super) fn finish(self) -> Finished {
        Finished {
            jobset: self.jobset,
            secrets: self.secrets,
            config_maps: self.config_maps,
            warnings: self.warnings,
            trace: self.trace,
        }
    }

    pub(super) fn replicated_jobs(&self) -> &[Value] {
        k8s_json::list(&self.jobset, &["spec", "replicatedJobs"])
    }

    pub(super) fn replicated_job_mut(&mut self, index: usize) -> Option<&mut Value> {
        self.jobset
            .get_mut("spec")?
            .get_mut("replicatedJobs")?
            .get_mut(index)
    }

    /// Finds the first replicated job that trains.
    pub(super) fn trainer(&self) -> Option<&PodSet> {
        self.sets.iter().find(|set| set.role == Role::Trainer)
    }

    /// Lists the indexes of the replicated jobs with a role.
    pub(super) fn indexes(&self, role: Role) -> Vec<usize> {
        self.sets
            .iter()
            .filter(|set| set.role == role)
            .map(|set| set.index)
            .collect()
    }

    /// Lists the indexes of the replicated jobs that take a part of `spec.trainer`.
    pub(super) fn that_take(&self, framework: &dyn Framework, part: Part) -> Vec<usize> {
        self.sets
            .iter()
            .filter(|set| framework.takes(self, set, part))
            .map(|set| set.index)
            .collect()
    }

    /// Gives the spec of the pods of a replicated job.
    pub(super) fn pod_spec(&self, index: usize) -> Option<&Value> {
        k8s_json::at(self.replicated_jobs().get(index)?, &POD_SPEC)
    }

    /// Finds a container of a replicated job.
    pub(super) fn container(&self, index: usize, name: &str) -> Option<&Value> {
        k8s_json::named(k8s_json::list(self.pod_spec(index)?, &["containers"]), name)
    }

    /// Finds a container, or else an init container, of a replicated job and hands it out to be changed.
    pub(super) fn any_container_mut(&mut self, index: usize, name: &str) -> Option<&mut Map<String, Value>> {
        let list = if self.container(index, name).is_some() {
            "containers"
        } else {
            "initContainers"
        };
        self.container_in(index, list, name)
    }

    /// Finds a container of a replicated job and hands it out to be changed.
    pub(super) fn container_mut(&mut self, index: usize, name: &str) -> Option<&mut Map<String, Value>> {
        self.container_in(index, "containers", name)
    }

    fn container_in(&mut self, index: usize, list: &str, name: &str) -> Option<&mut Map<String, Value>> {
        let pod_spec = POD_SPEC
            .iter()
            .try_fold(self.replicated_job_mut(index)?, |v, step| v.get_mut(*step))?;
        let items = pod_spec.get_mut(list)?.as_array_mut()?;
        items
            .iter_mut()
            .find(|c| k8s_json::name(c) == Some(name))?
            .as_object_mut()
    }

    /// Gives the DNS name of a pod, as JobSet makes it.
    pub(super) fn host(&self, set: &PodSet, replica: impl Display, pod: impl Display) -> String {
        format!(
            "{}-{}-{replica}-{pod}.{}",
            self.job_name(),
            set.name,
            self.subdomain()
        )
    }

    /// Lists the DNS names of all pods of a replicated job.
    pub(super) fn hosts(&self, set: &PodSet) -> impl Iterator<Item = String> {
        (0..set.replicas).flat_map(move |replica| (0..set.count).map(move |pod| self.host(set, replica, pod)))
    }

    /// Gives the subdomain of the pods' names.
    pub(super) fn subdomain(&self) -> &str {
        k8s_json::text(&self.jobset, &["spec", "network", "subdomain"])
            .filter(|s| !s.is_empty())
            .unwrap_or(self.job_name())
    }

    pub(super) fn job_name(&self) -> &'a str {
        self.job.name()
    }

    /// Finds a replicated job by its name.
    pub(super) fn set(&self, name: &str) -> Option<&PodSet> {
        self.sets.iter().find(|set| set.name == name)
    }

    /// Gives the spec of the pods of a replicated job to change it.
    pub(super) fn pod_spec_mut(&mut self, index: usize) -> Option<&mut Map<String, Value>> {
        Some(k8s_json::object_mut(self.replicated_job_mut(index)?, &POD_SPEC))
    }

    /// Gives what the runtime says of a replicated job, before anything was changed.
    fn runtime_job(&self, set: &PodSet) -> &'a Value {
        let template = self
            .runtime
            .spec
            .template
            .as_ref()
            .map_or(&Value::Null, |t| t.value());
        k8s_json::list(template, &["spec", "replicatedJobs"])
            .get(set.index)
            .unwrap_or(&Value::Null)
    }

    /// Gives the spec that the runtime gives the pods of a replicated job.
    pub(super) fn runtime_pod_spec(&self, set: &PodSet) -> Option<&'a Value> {
        k8s_json::at(self.runtime_job(set), &POD_SPEC)
    }

    /// Gives the replicas that the runtime states for a replicated job.
    pub(super) fn runtime_replicas(&self, set: &PodSet) -> Option<i64> {
        self.runtime_job(set).get("replicas")?.as_i64()
    }

    /// Gives the parallelism that the runtime states for a replicated job.
    pub(super) fn runtime_parallelism(&self, set: &PodSet) -> Option<i64> {
        k8s_json::at(self.runtime_job(set), &["template", "spec", "parallelism"])?.as_i64()
    }

    /// Lists the words of the command that the runtime gives the container `node` of a replicated job.
    pub(super) fn runtime_command(&self, set: &PodSet) -> impl Iterator<Item = &'a str> + use<'a> {
        let pod = self.runtime_pod_spec(set).unwrap_or(&Value::Null);
        let node = k8s_json::named(k8s_json::list(pod, &["containers"]), names::NODE).unwrap_or(&Value::Null);
        k8s_json::list(node, &["command"])
            .iter()
            .filter_map(Value::as_str)
    }

    /// Lists the PriorityClasses that the pods of some replicated jobs name, in order, each with where.
    pub(super) fn priority_classes(&self, indexes: impl IntoIterator<Item = usize>) -> Vec<(String, String)> {
        let class = |index: usize| {
            let class = k8s_json::text(self.pod_spec(index)?, &["priorityClassName"])?;
            let place = format!("replicated job {:?}", self.sets.get(index)?.name);
            (!class.is_empty()).then(|| (class.to_owned(), place))
        };
        indexes.into_iter().filter_map(class).collect()
    }

    /// Gives the resources that a container asks for, after all merges.
    pub(super) fn resources(&self, index: usize, container: &str) -> &Value {
        self.container(index, container)
            .and_then(|c| c.get("resources"))
            .unwrap_or(&Value::Null)
    }
}
