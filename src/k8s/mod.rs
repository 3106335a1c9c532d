//! What Kubernetes' apimachinery has and Rust lacks. Knows nothing of training jobs.

pub mod diff;
pub mod fields;
pub mod json;
pub mod path;
pub mod problem;
pub mod quantity;
pub mod requests;
pub mod strategic;
pub mod suggest;
pub mod upsert;
pub mod yaml;
