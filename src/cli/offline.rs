//! A cluster made of files: admits objects as an API server with our admission does, and stores them.
//!
//! Runtimes and facts are admitted before TrainJobs, whatever their order in the files. The shipped runtimes exist from
//! the start.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::admission::{self, Operation, TrainJobRequest, Verdict};
use crate::api::{ClusterTrainingRuntime, JobSet, TrainJob, TrainingRuntime, names};
use crate::k8s::json as k8s_json;
use crate::k8s::problem::{Problem, Problems, Reason};
use crate::k8s::suggest;
use crate::plan::{ClusterFacts, Config, Inputs, Known, Observed, Runtime, RuntimeKind};
use crate::{catalog, schema};

/// The verdict on one document.
pub(super) struct Outcome {
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) verdict: Verdict,
}

/// An object that was admitted.
struct Stored<T> {
    json: Value,
    object: T,
}

/// A runtime, and its template as the author wrote it, without defaults.
struct Written {
    runtime: Arc<Runtime>,
    template: Value,
}

/// The cluster.
#[derive(Default)]
pub(super) struct Offline {
    /// The shipped runtimes. One of the same name in a file takes precedence.
    shipped: Vec<Written>,
    runtimes: Vec<Stored<Written>>,
    /// Kind and name of the runtimes that were refused.
    refused: Vec<(String, String)>,
    jobs: Vec<Stored<TrainJob>>,
    config: Config,
    jobsets: Vec<JobSet>,
    config_maps: Vec<ConfigMap>,
    /// Facts, with the LimitRanges of all namespaces.
    facts: ClusterFacts,
}

impl Offline {
    /// Creates a cluster with the shipped runtimes.
    pub(super) fn new(config: Config) -> anyhow::Result<Self> {
        let mut shipped = Vec::new();
        for mut json in catalog::runtimes()? {
            let template = template(&json);
            if let Some(schema) = schema::of(names::CLUSTER_TRAINING_RUNTIME) {
                schema.set_defaults(&mut json);
            }
            let runtime: ClusterTrainingRuntime = serde_json::from_value(json)?;
            shipped.push(Written {
                runtime: Arc::new(runtime.into()),
                template,
            });
        }
        Ok(Self {
            shipped,
            config,
            ..Self::default()
        })
    }

    /// Admits all documents. Returns the verdicts on TrainJobs and runtimes, in the order of the documents, and what is
    /// wrong with the facts.
    pub(super) fn take_all(&mut self, objects: Vec<Value>) -> (Vec<Outcome>, Vec<String>) {
        let (jobs, others): (Vec<_>, Vec<_>) = objects
            .into_iter()
            .enumerate()
            .partition(|(_, o)| k8s_json::text(o, &["kind"]) == Some(names::TRAIN_JOB));
        let (mut outcomes, mut errors) = (Vec::new(), Vec::new());
        for (at, object) in others.into_iter().chain(jobs) {
            match self.take(object) {
                Ok(outcome) => outcomes.extend(outcome.map(|outcome| (at, outcome))),
                Err(error) => errors.push(error),
            }
        }
        outcomes.sort_by_key(|(at, _)| *at);
        (outcomes.into_iter().map(|(_, outcome)| outcome).collect(), errors)
    }

    /// Returns the template of a job's runtime as its author wrote it; `None` if the job has a snapshot.
    pub(super) fn template_of(&self, job: &TrainJob) -> Option<&Value> {
        let frozen = self.observed(job).snapshot.is_some();
        let written = self.written_for(job).filter(|_| !frozen)?;
        Some(&written.template)
    }

    /// Lists the jobs that were admitted.
    pub(super) fn jobs(&self) -> impl Iterator<Item = &TrainJob> {
        self.jobs.iter().map(|stored| &stored.object)
    }

    /// Returns the inputs of a job's plan.
    pub(super) fn inputs<'a>(&'a self, job: &'a TrainJob) -> Inputs<'a> {
        Inputs {
            job,
            runtime: self.runtime_of(job),
            config: &self.config,
            observed: self.observed(job),
        }
    }

    /// Returns the facts of the cluster that a job may depend on.
    pub(super) fn facts_of(&self, job: &TrainJob) -> ClusterFacts {
        let mut facts = self.facts.clone();
        facts
            .limit_ranges
            .retain(|range| range.metadata.namespace == job.metadata.namespace);
        facts
    }

    fn take(&mut self, object: Value) -> Result<Option<Outcome>, String> {
        let kind = k8s_json::text(&object, &["kind"]).unwrap_or_default().to_owned();
        if let Some(schema) = schema::of(&kind) {
            return Ok(Some(self.admit(&kind, schema, object)));
        }
        match kind.as_str() {
            names::JOBSET => self.jobsets.push(fact(&object)?),
            "ConfigMap" => self.config_maps.push(fact(&object)?),
            "RuntimeClass" => self.facts.runtime_classes.push(fact(&object)?),
            "LimitRange" => self.facts.limit_ranges.push(fact(&object)?),
            "PriorityClass" => {
                let name = k8s_json::text(&object, &["metadata", "name"]).unwrap_or_default();
                self.facts.priority_classes.insert(name.to_owned(), Known::Exists);
            }
            // Other kinds do not matter to training jobs.
            _ => {}
        }
        Ok(None)
    }

    fn admit(&mut self, kind: &str, schema: &schema::Schema, mut json: Value) -> Outcome {
        generate_name(&mut json);
        let text = |path: &[&str]| k8s_json::text(&json, path).map(str::to_owned);
        let namespace = text(&["metadata", "namespace"]).filter(|_| kind != names::CLUSTER_TRAINING_RUNTIME);
        let name = text(&["metadata", "name"]).unwrap_or_default();

        let mut problems = schema.unknown_fields(&json);
        schema.prune(&mut json);
        let template = template(&json);
        schema.set_defaults(&mut json);
        let old = self.json_of(kind, namespace.as_deref(), &name).cloned();
        problems.extend(schema.validate(&json, old.as_ref()));

        let mut verdict = Verdict {
            problems,
            warnings: Vec::new(),
        };
        let judged = match RuntimeKind::from_name(kind) {
            Some(RuntimeKind::Namespaced) => {
                self.admit_runtime::<TrainingRuntime>(json, template, &mut verdict)
            }
            Some(RuntimeKind::Cluster) => {
                self.admit_runtime::<ClusterTrainingRuntime>(json, template, &mut verdict)
            }
            None => self.admit_job(json, &mut verdict),
        };
        // What the schema refuses may not deserialize, and then has its problems already.
        if let (Err(error), true) = (judged, verdict.allowed()) {
            verdict.problems.push(error);
        }
        if kind != names::TRAIN_JOB && !verdict.allowed() {
            self.refused.push((kind.to_owned(), name.clone()));
        }
        Outcome {
            kind: kind.to_owned(),
            namespace,
            name,
            verdict,
        }
    }

    fn admit_runtime<T: DeserializeOwned + Into<Runtime>>(
        &mut self,
        json: Value,
        template: Value,
        verdict: &mut Verdict,
    ) -> Result<(), Problem> {
        let runtime: Runtime = typed::<T>(&json)?.into();
        let judged = admission::runtime(&runtime);
        let schema_refused = !verdict.allowed();
        add(verdict, judged.problems, judged.warnings);
        let place = self.runtimes.iter().position(|s| {
            let other = &s.object.runtime;
            other.kind == runtime.kind
                && other.metadata.name == runtime.metadata.name
                && other.metadata.namespace == runtime.metadata.namespace
        });
        let object = Written {
            runtime: Arc::new(runtime),
            template,
        };
        match place {
            Some(at) if verdict.allowed() => self.runtimes[at] = Stored { json, object },
            // A runtime that only our rules refuse is kept, so that jobs that name it are refused with the reason.
            None if !schema_refused => self.runtimes.push(Stored { json, object }),
            // A refused update changes nothing.
            _ => {}
        }
        Ok(())
    }

    fn admit_job(&mut self, json: Value, verdict: &mut Verdict) -> Result<(), Problem> {
        let job: TrainJob = typed(&json)?;
        let place = self.jobs.iter().position(|s| {
            s.object.metadata.name == job.metadata.name
                && s.object.metadata.namespace == job.metadata.namespace
        });
        let operation = place.map_or(Operation::Create, |at| Operation::Update(&self.jobs[at].object));
        let judged = admission::train_job(&TrainJobRequest {
            operation,
            job: &job,
            runtime: self.runtime_of(&job),
            config: &self.config,
            observed: &self.observed(&job),
            facts: &self.facts_of(&job),
        });
        let problems = self.with_hints(&job, judged.problems);
        add(verdict, problems, judged.warnings);
        if verdict.allowed() {
            let stored = Stored { json, object: job };
            match place {
                Some(at) => self.jobs[at] = stored,
                None => self.jobs.push(stored),
            }
        }
        Ok(())
    }

    /// Adds hints about a runtime that does not exist.
    fn with_hints(&self, job: &TrainJob, problems: Problems) -> Vec<Problem> {
        let with_hint = |mut problem: Problem| {
            if problem.reason == Reason::NotFound {
                problem.message.push_str(&self.hint(job));
            }
            problem
        };
        problems.into_iter().map(with_hint).collect()
    }

    /// Returns what may have been meant by the name of a runtime that does not exist.
    fn hint(&self, job: &TrainJob) -> String {
        let reference = &job.spec.runtime_ref;
        let is_named = |runtime: &&Runtime| runtime.name() == reference.name;
        let in_reach = |runtime: &&Runtime| in_reach(runtime, job);
        let kind = RuntimeKind::of(reference);
        if self
            .refused
            .iter()
            .any(|(kind, name)| kind == reference.kind() && *name == reference.name)
        {
            return "; the one in the files was refused".to_owned();
        }
        if let Some(other) = self.known_runtimes().filter(in_reach).find(is_named) {
            return format!(
                "; a {} of this name exists, name that as spec.runtimeRef.kind",
                other.kind.name()
            );
        }
        let known = self
            .known_runtimes()
            .filter(in_reach)
            .filter(|r| Some(r.kind) == kind)
            .map(Runtime::name);
        let known: Vec<&str> = known.collect();
        if let Some(name) = suggest::nearest(&reference.name, known.iter().copied()) {
            return format!("; did you mean {name:?}?");
        }
        suggest::list(&known).map_or_else(String::new, |names| format!("; there are {names}"))
    }

    fn json_of(&self, kind: &str, namespace: Option<&str>, name: &str) -> Option<&Value> {
        let runtimes = self.runtimes.iter().map(|s| &s.json);
        let jobs = self.jobs.iter().map(|s| &s.json);
        runtimes.chain(jobs).find(|json| {
            k8s_json::text(json, &["kind"]) == Some(kind)
                && k8s_json::text(json, &["metadata", "name"]) == Some(name)
                && (namespace.is_none() || k8s_json::text(json, &["metadata", "namespace"]) == namespace)
        })
    }

    fn runtime_of(&self, job: &TrainJob) -> Option<Arc<Runtime>> {
        self.written_for(job).map(|written| Arc::clone(&written.runtime))
    }

    fn written_for(&self, job: &TrainJob) -> Option<&Written> {
        let kind = RuntimeKind::of(&job.spec.runtime_ref)?;
        let fits = |runtime: &Runtime| {
            runtime.kind == kind && runtime.name() == job.spec.runtime_ref.name && in_reach(runtime, job)
        };
        self.known().find(|written| fits(&written.runtime))
    }

    /// Lists all runtimes, those of the files first.
    fn known_runtimes(&self) -> impl Iterator<Item = &Runtime> {
        self.known().map(|written| &*written.runtime)
    }

    fn known(&self) -> impl Iterator<Item = &Written> {
        let stored = self.runtimes.iter().map(|stored| &stored.object);
        stored.chain(&self.shipped)
    }

    fn observed(&self, job: &TrainJob) -> Observed {
        let here = |namespace: &Option<String>| *namespace == job.metadata.namespace;
        let name = job.metadata.name.as_deref().unwrap_or_default();
        let snapshot = format!("{name}{}", names::SNAPSHOT_SUFFIX);
        let jobset = self
            .jobsets
            .iter()
            .find(|j| j.metadata.name.as_deref() == Some(name) && here(&j.metadata.namespace));
        let snapshot = self
            .config_maps
            .iter()
            .find(|c| c.metadata.name.as_ref() == Some(&snapshot) && here(&c.metadata.namespace));
        Observed {
            jobset: jobset.cloned(),
            deleted: None,
            snapshot: snapshot.cloned(),
        }
    }
}

/// Returns the template of a runtime.
fn template(runtime: &Value) -> Value {
    k8s_json::at(runtime, &["spec", "template"])
        .cloned()
        .unwrap_or_default()
}

/// Reports whether a job can name a runtime: one of its own namespace, or of the cluster.
fn in_reach(runtime: &Runtime, job: &TrainJob) -> bool {
    runtime.kind == RuntimeKind::Cluster || runtime.metadata.namespace == job.metadata.namespace
}

/// Adds the findings of admission to those of the schema. Of a field with problems of both, the schema's are kept.
fn add(verdict: &mut Verdict, problems: impl IntoIterator<Item = Problem>, warnings: Vec<String>) {
    let told: BTreeSet<_> = verdict
        .problems
        .iter()
        .map(|problem| problem.field.clone())
        .collect();
    verdict.problems.extend(
        problems
            .into_iter()
            .filter(|problem| !told.contains(&problem.field)),
    );
    verdict.warnings.extend(warnings);
}

/// Names an object that has only a prefix, as an API server does: with five more characters.
fn generate_name(object: &mut Value) {
    let prefix = k8s_json::text(object, &["metadata", "generateName"]).map(str::to_owned);
    if let (Some(prefix), None) = (prefix, k8s_json::text(object, &["metadata", "name"])) {
        object["metadata"]["name"] = Value::String(format!("{prefix}xxxxx"));
    }
}

/// Parses a fact of the cluster. An error names the object and the field.
fn fact<T: DeserializeOwned>(object: &Value) -> Result<T, String> {
    typed(object).map_err(|problem| {
        let text = |path: &[&str]| k8s_json::text(object, path).unwrap_or_default();
        format!("{} {}: {problem}", text(&["kind"]), text(&["metadata", "name"]))
    })
}

/// Parses an object as its type. An error names the field.
fn typed<T: DeserializeOwned>(json: &Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(json)
        .map_err(|error| Problem::invalid(error.path().to_string(), error.inner().to_string()))
}
