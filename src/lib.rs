//! Runs distributed training jobs on Kubernetes: one pure function, [`plan::plan`], decides; everything else carries.

pub mod admission;
pub mod api;
pub mod catalog;
pub mod cli;
#[cfg(feature = "controller")]
pub mod controller;
pub mod k8s;
pub mod plan;
pub mod schema;
pub mod status;
