//! What Kubernetes' apimachinery has and Rust lacks. Knows nothing of training jobs.

pub mod path;
