//! Which runtime a job is built from: the snapshot that its JobSet was built from, else the live one.
//!
//! Whoever may write ConfigMaps may write a snapshot, so one counts only for a JobSet that carries its digest.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::inputs::{Config, Inputs, Observed, Runtime, RuntimeKind};
use super::ownership;
use crate::api::{ClusterTrainingRuntime, TrainJob, TrainingRuntime, names};
use crate::k8s::problem::{Problem, Problems, Reason};
use crate::k8s::yaml;

/// Where the reference stands in a TrainJob.
pub(super) const RUNTIME_REF: &str = "spec.runtimeRef";

/// A job, and the runtime that it is built from.
#[derive(Debug)]
pub struct Resolved<'a> {
    pub(super) job: &'a TrainJob,
    pub(super) config: &'a Config,
    pub(super) observed: Observed,
    pub(super) runtime: Arc<Runtime>,
    /// The snapshot that must be there; `None` when it is.
    pub(super) snapshot: Option<ConfigMap>,
    /// Digest of the snapshot.
    pub(super) digest: String,
}

/// Finds the runtime that a job is built from.
pub fn resolve(inputs: Inputs<'_>) -> Result<Resolved<'_>, Problems> {
    let (runtime, snapshot, digest) = find(&inputs)?;
    Ok(Resolved {
        job: inputs.job,
        config: inputs.config,
        observed: inputs.observed,
        runtime,
        snapshot,
        digest,
    })
}

/// Finds a runtime, the snapshot that must be made of it, and the digest of the one that counts.
fn find(inputs: &Inputs<'_>) -> Result<(Arc<Runtime>, Option<ConfigMap>, String), Problem> {
    let reference = &inputs.job.spec.runtime_ref;
    let Some(kind) = RuntimeKind::of(reference) else {
        let message = format!(
            "{}/{} is not a kind of runtime; use {} or {} of group {}",
            reference.api_group(),
            reference.kind(),
            names::CLUSTER_TRAINING_RUNTIME,
            names::TRAINING_RUNTIME,
            names::GROUP,
        );
        return Err(Problem::new(Reason::Unsupported, RUNTIME_REF, message));
    };
    if let Some(snapshot) = inputs.observed.snapshot() {
        let runtime = thaw(inputs.job, kind, snapshot)?;
        return Ok((Arc::new(runtime), None, digest(snapshot)));
    }
    let Some(runtime) = &inputs.runtime else {
        let place = match kind {
            RuntimeKind::Cluster => String::new(),
            RuntimeKind::Namespaced => format!(" in namespace {:?}", namespace(inputs.job)),
        };
        let message = format!(
            "{} {:?} does not exist{place}; create it, or name one that exists",
            kind.name(),
            reference.name,
        );
        return Err(Problem::new(Reason::NotFound, RUNTIME_REF, message));
    };
    let snapshot = freeze(inputs.job, runtime)?;
    let digest = digest(&snapshot);
    Ok((Arc::clone(runtime), Some(snapshot), digest))
}

impl Observed {
    /// Returns the snapshot if it counts: if the job has, or had, a JobSet that was built from it. A JobSet without a digest
    /// is one of an older release.
    pub(super) fn snapshot(&self) -> Option<&ConfigMap> {
        let jobset = self.jobset.as_ref().or(self.deleted.as_ref())?;
        let snapshot = self.snapshot.as_ref()?;
        let carried = jobset
            .metadata
            .annotations
            .as_ref()
            .and_then(|annotations| annotations.get(names::SNAPSHOT_DIGEST_ANNOTATION));
        carried
            .is_none_or(|carried| *carried == digest(snapshot))
            .then_some(snapshot)
    }

    /// Reports whether the live runtime must be known, because no snapshot counts.
    pub fn needs_runtime(&self) -> bool {
        self.snapshot().is_none()
    }
}

/// Returns the digest of a snapshot's text, in the form `sha256:<hex>`.
fn digest(snapshot: &ConfigMap) -> String {
    let data = snapshot.data.as_ref();
    let text = data
        .and_then(|data| data.get(names::SNAPSHOT_KEY))
        .map_or("", String::as_str);
    format!("sha256:{:x}", Sha256::digest(text))
}

fn namespace(job: &TrainJob) -> &str {
    job.metadata.namespace.as_deref().unwrap_or_default()
}

/// Writes the snapshot of a runtime.
fn freeze(job: &TrainJob, runtime: &Runtime) -> Result<ConfigMap, Problem> {
    let trouble = |e: &dyn std::fmt::Display| {
        Problem::new(
            Reason::Unreadable,
            RUNTIME_REF,
            format!("the runtime cannot be written as a snapshot: {e}"),
        )
    };
    let metadata = ObjectMeta {
        managed_fields: None,
        ..runtime.metadata.clone()
    };
    let object = json!({
        "apiVersion": names::API_VERSION,
        "kind": runtime.kind.name(),
        "metadata": metadata,
        "spec": runtime.spec,
    });
    let yaml = yaml::write(&object).map_err(|e| trouble(&e))?;
    Ok(ConfigMap {
        metadata: ownership::owned(job, format!("{}{}", job.name(), names::SNAPSHOT_SUFFIX)),
        data: Some(BTreeMap::from([(names::SNAPSHOT_KEY.to_owned(), yaml)])),
        ..ConfigMap::default()
    })
}

/// Reads a snapshot, after making sure that it is this job's and of the runtime that the job names.
fn thaw(job: &TrainJob, kind: RuntimeKind, snapshot: &ConfigMap) -> Result<Runtime, Problem> {
    let name = snapshot.metadata.name.as_deref().unwrap_or_default();
    let broken = |what: String| {
        let message = format!("ConfigMap {name:?} {what}; delete it to take the snapshot again");
        Problem::new(Reason::Unreadable, RUNTIME_REF, message)
    };
    if !job.controls(&snapshot.metadata) {
        let message = format!(
            "ConfigMap {name:?} belongs to another object; waiting until it is gone, or delete it if nobody needs it"
        );
        return Err(Problem::new(Reason::Foreign, RUNTIME_REF, message));
    }
    let yaml = snapshot
        .data
        .as_ref()
        .and_then(|data| data.get(names::SNAPSHOT_KEY));
    let yaml = yaml.ok_or_else(|| broken(format!("has no key {:?}", names::SNAPSHOT_KEY)))?;
    let object: Value = serde_saphyr::from_str(yaml).map_err(|e| broken(format!("is no YAML: {e}")))?;

    let found = |key: &str| {
        object
            .get(key)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let found_name = crate::k8s::json::text(&object, &["metadata", "name"]).unwrap_or_default();
    let wanted = &job.spec.runtime_ref.name;
    if found("apiVersion") != names::API_VERSION || found("kind") != kind.name() || found_name != wanted {
        return Err(broken(format!(
            "holds {} {found_name:?} but the job names {} {wanted:?}",
            found("kind"),
            kind.name()
        )));
    }
    let unreadable = |e: serde_json::Error| broken(format!("does not hold a {}: {e}", kind.name()));
    match kind {
        RuntimeKind::Namespaced => serde_json::from_value::<TrainingRuntime>(object).map(Runtime::from),
        RuntimeKind::Cluster => serde_json::from_value::<ClusterTrainingRuntime>(object).map(Runtime::from),
    }
    .map_err(unreadable)
}
