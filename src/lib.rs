//! Runs distributed training jobs on Kubernetes: one pure function, [`plan::plan`], decides; everything else carries.

pub mod api;
pub mod k8s;
pub mod plan;
pub mod status;
