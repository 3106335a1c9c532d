//! `cargo xtask bench`: the load benchmark on a cluster made for it.

use anyhow::Result;

use crate::build::go::{self, Toolchain};
use crate::cache::Cache;
use crate::cluster::{Cluster, Options};
use crate::layout;
use crate::process::Task;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Arguments for the benchmark; see `cargo xtask bench -- --help`
    #[arg(last = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let kubectl = Toolchain::find()?.build(&Cache::open()?, go::KUBECTL)?;
    let bench = |arguments: &[&str]| {
        Task::cargo()
            .args(["bench", "--package", "trainer", "--bench", "load"])
            .args(arguments)
            .current_dir(layout::repository())
    };
    // A cluster that waits for the compiler would only be in its way.
    bench(&["--no-run"]).shown()?;
    let cluster = Cluster::up(&Options {
        name: "bench".to_owned(),
        node: true,
        images: Vec::new(),
    })?;
    let measured = bench(&["--"])
        .args(&arguments.arguments)
        .env("TRAINER_TEST_KUBECONFIG", cluster.kubeconfig())
        .env("TRAINER_TEST_AUDIT_LOG", cluster.audit_log())
        .env("KUBECTL", &kubectl)
        .shown();
    measured.and(cluster.down())
}
