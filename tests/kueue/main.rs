//! Kueue and the controller on a real cluster: Kueue as its chart installs it, with the configuration that it is shipped
//! with.
//!
//! `cargo xtask test` brings the cluster up. Kueue stays in it, so these tests come after all others; each has "kueue" in
//! its name.

#![allow(
    clippy::default_trait_access,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and shows a log when it does"
)]

mod counts;
mod queue;
mod runs;
#[allow(dead_code, reason = "the tests of the controller use the rest")]
#[path = "../cluster/support.rs"]
mod support;
