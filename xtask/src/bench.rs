//! `cargo xtask bench`: the load benchmark on a cluster of its own.

use anyhow::Result;
use local_cluster::build::go::{self, Toolchain};
use local_cluster::cache::Cache;
use local_cluster::{Cluster, Options};

use crate::cargo::cargo;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Arguments for the benchmark; see `cargo xtask bench -- --help`
    #[arg(last = true)]
    arguments: Vec<String>,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let kubectl = Toolchain::find()?.build(&Cache::open()?, go::KUBECTL)?;
    let bench = |argument| cargo(["bench", "--package", "trainer", "--bench", "load", argument]);
    // Before the cluster comes up: an idle cluster would slow the compiler down.
    bench("--no-run").shown()?;
    let cluster = Cluster::up(&Options {
        name: "bench".to_owned(),
        node: true,
        images: Vec::new(),
    })?;
    let measured = bench("--")
        .args(&arguments.arguments)
        .env("TRAINER_TEST_KUBECONFIG", cluster.kubeconfig())
        .env("TRAINER_TEST_AUDIT_LOG", cluster.audit_log())
        .env("KUBECTL", &kubectl)
        .shown();
    measured.and(cluster.down())
}
