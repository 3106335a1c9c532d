//! The objects that a gang scheduler reads, and what an API server needs to serve their kinds.

use serde_json::{Map, Value, json};

use crate::api::TrainJob;
use crate::plan::ownership;

/// An object that a gang scheduler reads.
#[derive(Clone, Debug, PartialEq)]
pub struct GangObject {
    /// The whole object.
    pub object: Value,
    /// How the API server serves its kind.
    pub served: Served,
}

/// How an API server serves a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    /// With all its fields, as soon as the kind is installed.
    Whole,
    /// As far as feature gates are on: a field whose gate is off is dropped without an error, so a dry run comes before
    /// the object is created.
    Gated {
        /// What a cluster needs to serve the kind; follows "it needs".
        needs: &'static str,
    },
}

impl GangObject {
    /// Makes an object that has the name of the job and is owned by it.
    pub(in crate::plan) fn new(
        job: &TrainJob,
        api_version: &str,
        kind: &str,
        spec: Map<String, Value>,
        served: Served,
    ) -> Self {
        let object = json!({
            "apiVersion": api_version,
            "kind": kind,
            "metadata": ownership::owned(job, job.name().to_owned()),
            "spec": spec,
        });
        Self { object, served }
    }
}
