//! Tests on a real cluster: API server, scheduler, kubelet and JobSet, and the controller as a process of its own.
//!
//! `cargo xtask test` brings the cluster up and sets what they need.

#![allow(
    clippy::default_trait_access,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and shows a log when it does"
)]

mod api_server;
mod faults;
mod gang;
#[path = "../sent/input.rs"]
mod input;
mod life;
mod once;
#[path = "../program/mod.rs"]
mod program;
mod refusals;
mod release;
mod rendered;
mod schema;
mod sdk;
mod support;
mod trouble;
