//! Rules of the API server that several fields share, said once; they become part of the schema.
//!
//! Knows no types and evaluates nothing: a rule is the JSON that the CRD carries.

use schemars::Schema;
use serde_json::{Value, json};

/// Makes a field immutable once it is set; it may still appear and disappear. `fix` tells what to do instead.
pub(super) fn immutable(fix: &str) -> Value {
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

/// One CEL rule, and the message for who breaks it.
pub(super) fn rule(rule: &str, message: &str) -> Value {
    json!([{ "rule": rule, "message": message }])
}

/// The rules of a TrainJob's name, which becomes the name of a JobSet and part of host names.
pub(super) fn job_name() -> Value {
    json!([
        {
            "rule": "self.metadata.name.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",
            "message": "must be an RFC 1035 label: start with a lower-case letter, then letters, digits or '-', and end with a letter or digit",
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

/// Takes the format off an integer that Kubernetes publishes without one.
pub(super) fn no_format(schema: &mut Schema) {
    schema.remove("format");
}
