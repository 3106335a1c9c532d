//! CEL rules of the CRDs, for what bounds cannot express.
//!
//! Knows no types and evaluates nothing: a rule is JSON of a schema, with the message for those who break it.

use schemars::Schema;
use serde_json::{Value, json};

/// Makes the value of a field immutable. It may still be set and removed. `fix` says what to do instead.
fn immutable(fix: &str) -> Value {
    rule("self == oldSelf", &format!("is immutable; {fix}"))
}

/// Makes a field immutable in a runtime, as JobSet does.
pub(super) fn immutable_in_runtime() -> Value {
    immutable("create another runtime")
}

/// Makes a field of a runtime patch immutable.
pub(super) fn immutable_in_patch() -> Value {
    immutable("remove the patch and add another one, or create a new TrainJob")
}

/// Makes a field of a TrainJob immutable.
pub(super) fn immutable_in_job() -> Value {
    immutable("create a new TrainJob")
}

/// A rule and its message.
fn rule(rule: &str, message: &str) -> Value {
    json!([{ "rule": rule, "message": message }])
}

/// The rules of a TrainJob's name, which becomes the name of a JobSet and part of host names.
pub(super) fn job_name() -> Value {
    json!([
        {
            "rule": "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
            "message": "must be an RFC 1035 label: start with a lower-case letter, then letters, digits or '-', \
                        and end with a letter or digit",
            "fieldPath": ".metadata.name",
        },
        {
            "rule": "size(self.metadata.name) <= 63",
            "message": "must be no more than 63 characters",
            "fieldPath": ".metadata.name",
        },
    ])
}

/// The rule of a storage URI.
pub(super) fn storage_uri() -> Value {
    rule(
        "self == '' || self.matches('^[A-Za-z][A-Za-z0-9+.-]*://.+$')",
        "must be empty or a URI with a scheme, such as hf://org/name or s3://bucket/path",
    )
}

/// The rule of a report of the training program.
pub(super) fn last_updated() -> Value {
    rule("has(self.lastUpdatedTime)", "lastUpdatedTime must be set")
}

/// The rule of an ML policy.
pub(super) fn one_framework() -> Value {
    rule(
        "[has(self.torch), has(self.mpi), has(self.jax), has(self.xgboost), has(self.flux), \
         has(self.tensorflow), has(self.paddle), has(self.custom)]\
         .filter(is_set, is_set).size() <= 1",
        "at most one of torch, mpi, jax, xgboost, flux, tensorflow, paddle and custom may be set",
    )
}

/// The rule of a gang policy.
pub(super) fn one_gang_scheduler() -> Value {
    rule(
        "[has(self.coscheduling), has(self.volcano), has(self.workload)].filter(is_set, is_set).size() <= 1",
        "at most one of coscheduling, volcano and workload may be set: a pod has one scheduler",
    )
}

/// The rule of the bounds of an elastic run.
pub(super) fn min_to_max_nodes() -> Value {
    rule(
        "!has(self.minNodes) || !has(self.maxNodes) || self.minNodes <= self.maxNodes",
        "minNodes must not be greater than maxNodes",
    )
}

/// The rule of the further containers that get the environment of torchrun.
pub(super) fn not_the_node() -> Value {
    rule(
        "!('node' in self)",
        "must not name the container node: it has the environment already",
    )
}

/// The rule of a JobSet's startup order.
pub(super) fn order_or_dependencies() -> Value {
    rule(
        "!(has(self.startupPolicy) && self.startupPolicy.startupPolicyOrder == 'InOrder' && \
         has(self.replicatedJobs) && self.replicatedJobs.exists(job, has(job.dependsOn)))",
        "startupPolicy InOrder and dependsOn exclude each other: use one of them",
    )
}

/// The rule of a JobSet's claim templates. In CEL `namespace` is a reserved word.
pub(super) fn claims_without_namespace() -> Value {
    rule(
        "!has(self.templates) || \
         self.templates.all(claim, !has(claim.metadata) || !has(claim.metadata.__namespace__))",
        "claim templates must not set metadata.namespace: claims are made in the namespace of the job",
    )
}

/// Removes the format of an integer that Kubernetes publishes without one.
pub(super) fn no_format(schema: &mut Schema) {
    schema.remove("format");
}
