//! The CRDs against what they must say, and the offline engine against what the API server says.

#![allow(clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod core_types;
mod engine;
mod facts;
mod fields;
mod generated;
mod random;
mod refused;

use serde_json::Value;

/// Returns the schema in the CRD of a kind.
pub(crate) fn schema_of(kind: &str) -> Value {
    let crd = trainer::schema::crds()
        .into_iter()
        .find(|crd| crd["spec"]["names"]["kind"] == kind)
        .expect("there is a CRD of the kind");
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// Reads an object of a kind from the YAML of what is below its top.
pub(crate) fn object(kind: &str, yaml: &str) -> Value {
    let mut object: Value = serde_saphyr::from_str(yaml).expect("the test's YAML is YAML");
    object["apiVersion"] = "trainer.kubeflow.org/v1alpha1".into();
    object["kind"] = kind.into();
    if object["metadata"]["name"].is_null() {
        object["metadata"]["name"] = "job".into();
    }
    object
}
