//! Training runs of every framework on a real cluster: the shipped runtimes and the examples as they are, with images that
//! hold the frameworks.
//!
//! `cargo xtask test` brings the cluster up and runs what is in [`small`]; `cargo xtask test --frameworks` has the large
//! images too and runs everything.

#![allow(
    clippy::default_trait_access,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and shows a log when it does"
)]

mod example;
mod large;
mod mpi;
mod small;
#[allow(dead_code, reason = "the tests of the controller use the rest")]
#[path = "../cluster/support.rs"]
mod support;
