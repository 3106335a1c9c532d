//! Developer tasks of this repository: `cargo xtask --help`.

mod bench;
mod cargo;
mod cluster;
mod core_types;
mod demo;
mod generate;
mod helm;
mod image;
mod layout;
mod modules;
mod sdk;
mod suite;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};
use local_cluster::{Internal, console, interrupt, say};

const ABOUT_THE_CACHE: &str = "\
The cluster's programs and images are built from package registries once, and kept in $TRAINER_CACHE_DIR or else in
~/.cache/kubeflow-trainer. The first time takes about half an hour on two cores; later runs take seconds.";

/// Developer tasks of the trainer repository
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", after_help = ABOUT_THE_CACHE)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Everything that must pass before a change lands, on a real cluster too
    Test(suite::Arguments),

    /// How fast and at what cost TrainJobs become JobSets, on a real cluster
    Bench(bench::Arguments),

    /// A real cluster, the controller from its chart, and a training run to watch
    Demo(demo::Arguments),

    /// The controller's image as a file, for a registry or a node; Docker is not needed
    Image(image::Arguments),

    /// A real one-node Kubernetes cluster on this machine, without Docker or a registry
    #[command(subcommand)]
    Cluster(cluster::Command),

    /// Write the files that are generated from others: CRDs, and the chart's copies of CRDs and runtimes
    Generate(generate::Generate),

    /// List the circles between the modules of `src/`, and the imports that make them
    Modules,

    #[command(flatten)]
    Internal(Internal),
}

fn main() -> ExitCode {
    console::start();
    match interrupt::catch().and_then(|()| run(Cli::parse().command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say!("FAILED: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> Result<()> {
    match command {
        Command::Test(arguments) => suite::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Image(arguments) => image::run(&arguments),
        Command::Cluster(command) => cluster::run(command),
        Command::Generate(generate) => generate.run(layout::repository()),
        Command::Modules => modules::run(),
        Command::Internal(internal) => internal.run(),
    }
}
