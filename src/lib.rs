//! Runs distributed training jobs on Kubernetes: one pure function, [`plan`], decides; everything else carries.

pub mod api;
pub mod schema;
