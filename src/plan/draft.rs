//! The JobSet in the making: one copy of the pods, and for each replicated job what the stages must know of it.

use std::fmt::Display;

use serde_json::{Map, Value, json};

use super::accelerators::{self, Devices};
use super::inputs::{Config, Runtime};
use super::replicated_job::{self, POD_FIELD, ReplicatedJobSpec, Section};
use super::trace::{Stage, Trace};
use crate::api::TrainJob;
use crate::k8s::json::{self as k8s_json, list_mut};
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

/// A list of containers of a Pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ContainerList {
    Containers,
    InitContainers,
}

impl ContainerList {
    fn field(self) -> &'static str {
        match self {
            Self::Containers => "containers",
            Self::InitContainers => "initContainers",
        }
    }
}

/// A container of the draft. Only [`Draft::find`] and [`Draft::find_any`] return one, and no stage removes containers, so
/// it is there until the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ContainerId {
    /// Index of its replicated job.
    pub(super) rjob: usize,
    list: ContainerList,
    index: usize,
}

/// The working state that the stages pass on.
pub(super) struct Draft<'a> {
    pub(super) job: &'a TrainJob,
    pub(super) runtime: &'a Runtime,
    pub(super) config: &'a Config,
    /// `metadata` (labels and annotations) and `spec`.
    pub(super) jobset: Value,
    pub(super) rjobs: Vec<ReplicatedJob>,
    pub(super) warnings: Vec<String>,
    traced: bool,
    trace: Trace,
    reasons: Vec<(FieldPath, String)>,
}

/// What the stages have made of the JobSet.
pub(super) struct Finished {
    pub(super) jobset: Value,
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

    /// Notes what led to a value that the running stage sets; `path` is a part of its path in the JobSet.
    pub(super) fn because(&mut self, path: impl FnOnce(&Self) -> FieldPath, why: &str) {
        if self.traced {
            let path = path(self);
            self.reasons.push((path, why.to_owned()));
        }
    }

    /// Returns where a container stands in the JobSet, as the trace writes it.
    pub(super) fn path(&self, at: ContainerId) -> FieldPath {
        let name = k8s_json::name(self.container(at)).unwrap_or_default();
        self.pod_path(at.rjob).field(at.list.field()).key(name)
    }

    /// Returns where the spec of the pods of a replicated job stands in the JobSet, as the trace writes it.
    pub(super) fn pod_path(&self, rjob: usize) -> FieldPath {
        let rjobs = FieldPath::new("spec.replicatedJobs");
        rjobs.key(self.spec(rjob).name()).join(&FieldPath::new(POD_FIELD))
    }

    /// Ends the work.
    pub(super) fn finish(self) -> Finished {
        Finished {
            jobset: self.jobset,
            warnings: self.warnings,
            trace: self.trace,
        }
    }

    /// Returns a replicated job as it stands in the draft.
    pub(super) fn spec(&self, index: usize) -> ReplicatedJobSpec<'_> {
        let rjobs = k8s_json::list(&self.jobset, &["spec", "replicatedJobs"]);
        ReplicatedJobSpec::new(rjobs.get(index).unwrap_or(&Value::Null))
    }

    /// Lists the replicated jobs as they stand in the draft.
    pub(super) fn specs(&self) -> Vec<ReplicatedJobSpec<'_>> {
        ReplicatedJobSpec::list(&self.jobset).collect()
    }

    /// Returns a replicated job to change it.
    pub(super) fn rjob_mut(&mut self, index: usize) -> &mut Value {
        let spec = k8s_json::object_mut(&mut self.jobset, &["spec"]);
        &mut list_mut(spec, "replicatedJobs")[index]
    }

    /// Returns the spec of the pods of a replicated job to change it.
    pub(super) fn pod_mut(&mut self, index: usize) -> &mut Map<String, Value> {
        replicated_job::pod_mut(self.rjob_mut(index))
    }

    /// Finds the first replicated job that trains.
    pub(super) fn trainer(&self) -> Option<&ReplicatedJob> {
        self.rjobs.iter().find(|rjob| rjob.trains())
    }

    /// Finds a container of a replicated job.
    pub(super) fn find(&self, rjob: usize, name: &str) -> Option<ContainerId> {
        self.find_in(rjob, ContainerList::Containers, name)
    }

    /// Finds a container of a replicated job, else an init container.
    pub(super) fn find_any(&self, rjob: usize, name: &str) -> Option<ContainerId> {
        self.find(rjob, name)
            .or_else(|| self.find_in(rjob, ContainerList::InitContainers, name))
    }

    fn find_in(&self, rjob: usize, list: ContainerList, name: &str) -> Option<ContainerId> {
        let mut containers = k8s_json::list(self.spec(rjob).pod(), &[list.field()]).iter();
        let index = containers.position(|container| k8s_json::name(container) == Some(name))?;
        Some(ContainerId { rjob, list, index })
    }

    /// Lists the containers that a section of the TrainJob overrides.
    pub(super) fn overridden(&self, section: Section) -> Vec<ContainerId> {
        let rjobs = self.rjobs.iter().filter(|rjob| rjob.section == Some(section));
        rjobs
            .filter_map(|rjob| self.find(rjob.index, section.container()))
            .collect()
    }

    /// Returns a container.
    pub(super) fn container(&self, at: ContainerId) -> &Value {
        &self.spec(at.rjob).pod()[at.list.field()][at.index]
    }

    /// Returns a container to change it.
    pub(super) fn container_mut(&mut self, at: ContainerId) -> &mut Map<String, Value> {
        let containers = list_mut(self.pod_mut(at.rjob), at.list.field());
        k8s_json::object_mut(&mut containers[at.index], &[])
    }

    /// Returns the resources that a container asks for; null where it asks for none.
    pub(super) fn resources(&self, at: ContainerId) -> &Value {
        &self.container(at)["resources"]
    }

    /// Finds the devices that a container asks for.
    pub(super) fn devices(&self, at: ContainerId) -> Devices {
        accelerators::devices(self.resources(at), self.config)
    }

    /// Returns the DNS name of a pod, as JobSet makes it.
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

    /// Returns the subdomain of the pods' names.
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

    /// Returns a replicated job as the runtime has it, before any change.
    pub(super) fn runtime_spec(&self, index: usize) -> ReplicatedJobSpec<'a> {
        let mut specs = self.runtime.replicated_jobs();
        specs.nth(index).unwrap_or(ReplicatedJobSpec::new(&Value::Null))
    }
}
