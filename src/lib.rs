//! Runs distributed training jobs on Kubernetes: one pure function, [`plan::plan`], decides; everything else carries.
//!
//! No module but [`cli`] and `controller` reads a clock, a file, the environment, the network or a random number, or
//! starts a process: `clippy.toml` lists what that means.

// Unit tests may read files.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]

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
