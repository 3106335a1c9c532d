//! The JobSet in the making: one copy of the pods, and for each replicated job what the stages must know of it.

use std::fmt::Display;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Map, Value, json};

use super::replicated_job::{self, ReplicatedJobSpec, Section};
use super::trace::{Stage, Trace};
use super::{Config, NewSecret, Runtime};
use crate::api::TrainJob;
use crate::k8s::json as k8s_json;
use crate::k8s::path::FieldPath;

/// One replicated job: an index into the draft, and facts.
#[derive(Clone, Debug)]
pub(super) struct ReplicatedJob {
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) section: Option<Section>,
    /// Pods of each of its Jobs.
    pub(super) count: i64,
    /// Where that number comes from.
    pub(super) count_why: &'static str,
    /// Number of Jobs.
    pub(super) replicas: i64,
}

impl ReplicatedJob {
    /// Returns the number of all its pods.
    pub(super) fn pods(&self) -> i64 {
        self.replicas.saturating_mul(self.count)
    }

    /// Reports whether it is labelled as the one that trains.
    pub(super) fn trains(&self) -> bool {
        self.section == Some(Section::Trainer)
    }
}

/// The working state that the stages pass on.
pub(super) struct Draft<'a> {
    pub(super) job: &'a TrainJob,
    pub(super) runtime: &'a Runtime,
    pub(super) config: &'a Config,
    /// `metadata` (labels and annotations) and `spec`.
    pub(super) jobset: Value,
    pub(super) rjobs: Vec<ReplicatedJob>,
    pub(super) secrets: Vec<NewSecret>,
    pub(super) config_maps: Vec<ConfigMap>,
    pub(super) warnings: Vec<String>,
    traced: bool,
    trace: Trace,
    reasons: Vec<(FieldPath, String)>,
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
        let template = runtime.template();
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
            rjobs: Vec::new(),
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

    /// Reads the replicated jobs again, after their list has changed.
    pub(super) fn survey(&mut self) {
        self.rjobs = ReplicatedJobSpec::list(&self.jobset)
            .enumerate()
            .map(|(index, spec)| ReplicatedJob {
                index,
                name: spec.name().to_owned(),
                section: spec.section(),
                count: spec.parallelism().unwrap_or(1).max(1),
                count_why: "the runtime's parallelism, completions follow it",
                replicas: spec.replicas().and_then(Value::as_i64).unwrap_or(1),
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
    pub(super) fn because(&mut self, path: impl Into<FieldPath>, why: impl FnOnce() -> String) {
        if self.traced {
            self.reasons.push((path.into(), why()));
        }
    }

    /// Tells what led to an environment variable that the running stage sets.
    pub(super) fn because_env(&mut self, name: &str, why: &str) {
        self.because(FieldPath::new("env").key(name), || why.to_owned());
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

    /// Returns a replicated job as it stands in the draft.
    pub(super) fn spec(&self, index: usize) -> ReplicatedJobSpec<'_> {
        let rjobs = k8s_json::list(&self.jobset, &["spec", "replicatedJobs"]);
        ReplicatedJobSpec::new(rjobs.get(index).unwrap_or(&Value::Null))
    }

    pub(super) fn replicated_job_mut(&mut self, index: usize) -> Option<&mut Value> {
        self.jobset
            .get_mut("spec")?
            .get_mut("replicatedJobs")?
            .get_mut(index)
    }

    /// Finds the first replicated job that trains.
    pub(super) fn trainer(&self) -> Option<&ReplicatedJob> {
        self.rjobs.iter().find(|rjob| rjob.trains())
    }

    /// Lists the indexes of the replicated jobs of a section.
    pub(super) fn indexes(&self, section: Section) -> Vec<usize> {
        self.rjobs
            .iter()
            .filter(|rjob| rjob.section == Some(section))
            .map(|rjob| rjob.index)
            .collect()
    }

    /// Finds a container of a replicated job.
    pub(super) fn container(&self, index: usize, name: &str) -> Option<&Value> {
        self.spec(index).container(name)
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
        let pod = replicated_job::find_pod_mut(self.replicated_job_mut(index)?)?;
        let items = pod.get_mut(list)?.as_array_mut()?;
        items
            .iter_mut()
            .find(|c| k8s_json::name(c) == Some(name))?
            .as_object_mut()
    }

    /// Gives the DNS name of a pod, as JobSet makes it.
    pub(super) fn host(&self, rjob: &ReplicatedJob, replica: impl Display, pod: impl Display) -> String {
        format!(
            "{}-{}-{replica}-{pod}.{}",
            self.job_name(),
            rjob.name,
            self.subdomain()
        )
    }

    /// Lists the DNS names of all pods of a replicated job.
    pub(super) fn hosts(&self, rjob: &ReplicatedJob) -> impl Iterator<Item = String> {
        (0..rjob.replicas)
            .flat_map(move |replica| (0..rjob.count).map(move |pod| self.host(rjob, replica, pod)))
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
    pub(super) fn rjob(&self, name: &str) -> Option<&ReplicatedJob> {
        self.rjobs.iter().find(|rjob| rjob.name == name)
    }

    /// Gives the spec of the pods of a replicated job to change it.
    pub(super) fn pod_spec_mut(&mut self, index: usize) -> Option<&mut Map<String, Value>> {
        Some(replicated_job::pod_mut(self.replicated_job_mut(index)?))
    }

    /// Returns a replicated job as the runtime has it, before any change.
    pub(super) fn runtime_spec(&self, rjob: &ReplicatedJob) -> ReplicatedJobSpec<'a> {
        let mut specs = self.runtime.replicated_jobs();
        specs
            .nth(rjob.index)
            .unwrap_or(ReplicatedJobSpec::new(&Value::Null))
    }

    /// Lists the PriorityClasses that the pods of some replicated jobs name, in order, each with where.
    pub(super) fn priority_classes(&self, indexes: impl IntoIterator<Item = usize>) -> Vec<(String, String)> {
        let class = |index: usize| {
            let class = k8s_json::text(self.spec(index).pod(), &["priorityClassName"])?;
            let place = format!("replicated job {:?}", self.rjobs.get(index)?.name);
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
