//! The schemas of our kinds: the CRDs, and an engine that validates objects offline as the API server does.
//!
//! All of it is derived from the wire types in [`api`](crate::api), so each rule is stated once. Knows what the API
//! server does with any object of a CRD: unknown fields, defaults, validation, CEL. Knows nothing of what a TrainJob
//! means: rules that need a second object belong to [`plan`](crate::plan).
//!
//! The API server handles a new object in this order: [`Schema::unknown_fields`] (for strict clients) or
//! [`Schema::prune`], [`Schema::set_defaults`], [`Schema::validate`].

mod core_types;
mod crd;
mod defaults;
mod describe;
mod lists;
mod metadata;
mod node;
mod report;
mod rule;
mod rules;
mod structural;
mod unknown;
mod validate;
mod values;

use std::sync::LazyLock;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;

use crate::api::names::{API_VERSION, CLUSTER_TRAINING_RUNTIME, TRAIN_JOB, TRAINING_RUNTIME};
use crate::k8s::problem::Problems;
use node::Node;
use report::Report;

/// Returns the three CRDs.
pub fn crds() -> Vec<Value> {
    crd::KINDS.into_iter().filter_map(crd::of).collect()
}

/// Returns the three CRDs as YAML documents, each after a `---` line: the bytes of the files in `crds/`.
pub fn crds_yaml() -> Result<String, serde_saphyr::ser::Error> {
    let mut text = String::new();
    for crd in crds() {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(&crd)?);
    }
    Ok(text)
}

/// Returns the schema of one of our kinds; `None` for other kinds.
pub fn of(kind: &str) -> Option<&'static Schema> {
    static TRAIN_JOBS: LazyLock<Option<Schema>> = LazyLock::new(|| Schema::of(TRAIN_JOB));
    static RUNTIMES: LazyLock<Option<Schema>> = LazyLock::new(|| Schema::of(TRAINING_RUNTIME));
    static CLUSTER_RUNTIMES: LazyLock<Option<Schema>> =
        LazyLock::new(|| Schema::of(CLUSTER_TRAINING_RUNTIME));
    match kind {
        TRAIN_JOB => TRAIN_JOBS.as_ref(),
        TRAINING_RUNTIME => RUNTIMES.as_ref(),
        CLUSTER_TRAINING_RUNTIME => CLUSTER_RUNTIMES.as_ref(),
        _ => None,
    }
}

/// The schema of a kind.
#[derive(Debug)]
pub struct Schema {
    kind: String,
    namespaced: bool,
    root: Node,
}

impl Schema {
    /// Parses the schema in the CRD of a kind. Metadata has the schema of any Kubernetes object.
    fn of(kind: &str) -> Option<Self> {
        let crd = crd::of(kind)?;
        let schema = crd.pointer("/spec/versions/0/schema/openAPIV3Schema")?;
        let mut root = Node::deserialize(schema).ok()?;
        let metadata = Node::deserialize(Value::Object(structural::of::<ObjectMeta>())).ok()?;
        root.properties.insert("metadata".to_owned(), metadata);
        Some(Self {
            kind: kind.to_owned(),
            namespaced: crd
                .pointer("/spec/scope")
                .is_some_and(|scope| scope == "Namespaced"),
            root,
        })
    }

    /// Sets the defaults in each object that exists. A null is replaced by the default, or removed.
    pub fn set_defaults(&self, object: &mut Value) {
        defaults::set(&self.root, object);
    }

    /// Lists the fields that the schema does not know. The API server refuses them if the client asks for strict
    /// validation, as kubectl does, and drops them otherwise.
    pub fn unknown_fields(&self, object: &Value) -> Problems {
        let mut report = Report::default();
        unknown::find(&self.root, object, &mut report);
        report.into_problems()
    }

    /// Drops the fields that the schema does not know.
    pub fn prune(&self, object: &mut Value) {
        unknown::prune(&self.root, object);
    }

    /// Lists everything that the API server would refuse in an object, or in the change from `old` to it.
    pub fn validate(&self, object: &Value, old: Option<&Value>) -> Problems {
        let mut report = Report::default();
        for (field, expected) in [("apiVersion", API_VERSION), ("kind", self.kind.as_str())] {
            let found = object.get(field);
            if found.is_none_or(|found| found != expected) {
                let found = found.map_or_else(|| "nothing".to_owned(), report::shown);
                report.at_field(field, |report| {
                    report.add(format!("must be {expected}, got {found}"));
                });
            }
        }
        metadata::check(object, self.namespaced, &mut report);
        validate::check_object(&self.root, object, old, &mut report);
        report.into_problems()
    }
}
