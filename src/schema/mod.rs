//! The schemas of our kinds: the CRDs, and an engine that says offline what the API server would say.
//!
//! Everything comes from the wire types in [`api`](crate::api), so each rule is said once. Knows what the API server
//! does with any object of a CRD (unknown fields, defaults, validation, CEL); knows nothing of what a TrainJob means:
//! rules that need a second object are the planner's.

mod core_types;
mod crd;
mod describe;
mod structural;

use serde_json::Value;

/// Gives the three CRDs, whole.
pub fn crds() -> Vec<Value> {
    crd::KINDS.into_iter().filter_map(crd::of).collect()
}

/// Gives the three CRDs as YAML documents, each with its `---` line: the very bytes of the files in `crds/`.
pub fn crds_yaml() -> Result<String, serde_saphyr::ser::Error> {
    let mut text = String::new();
    for crd in crds() {
        text.push_str("---\n");
        text.push_str(&serde_saphyr::to_string(&crd)?);
    }
    Ok(text)
}
