//! Developer tasks of this repository: `cargo xtask --help`.

mod bench;
mod build;
mod cache;
mod cluster;
mod console;
mod core_types;
mod demo;
mod generate;
mod helm;
mod image;
mod interrupt;
mod kubectl;
mod layout;
mod modules;
mod process;
mod suite;

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::{Args, Parser, Subcommand};

use cache::Cache;
use cluster::{Cluster, Options};
use console::say;
use image::catalog::Extra;

const ABOUT_THE_CACHE: &str = "\
The cluster's programs and images are built from package registries once and kept in $TRAINER_CACHE_DIR, else in
~/.cache/kubeflow-trainer. The first time that takes about half an hour on two cores; later, seconds.";

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
    Image(image::archive::Arguments),

    /// A real one-node Kubernetes cluster on this machine, without Docker or a registry
    #[command(subcommand)]
    Cluster(ClusterCommand),

    /// Write the files that are made from other files: CRDs, and the chart's copies of CRDs and runtimes
    Generate(generate::Generate),

    /// List the circles between the modules of `src/`, and the imports that make them
    Modules,

    /// Process 1 of a cluster's namespaces (internal)
    #[command(name = cluster::init::COMMAND, hide = true)]
    ClusterInit { setup: String },

    /// The process that forwards a port to a cluster's API server (internal)
    #[command(name = cluster::forward::COMMAND, hide = true)]
    ClusterForward { init: i32 },
}

#[derive(Args)]
struct Name {
    /// Which cluster; several can be up at once
    #[arg(long, default_value = "dev")]
    name: String,
}

#[derive(Subcommand)]
enum ClusterCommand {
    /// Bring a cluster up, and print what a shell needs to use it
    Up {
        #[command(flatten)]
        name: Name,
        /// Only etcd, API server, controllers and scheduler: no node, no JobSet
        #[arg(long)]
        control_plane_only: bool,
        /// An image to have beside localhost/python:1
        #[arg(long = "image", value_enum, conflicts_with = "control_plane_only")]
        images: Vec<Extra>,
    },
    /// Bring images into a cluster: those named, else the controller's, built with debug assertions
    Load {
        #[command(flatten)]
        name: Name,
        /// An image to bring in instead of the controller's
        #[arg(long = "image", value_enum)]
        images: Vec<Extra>,
    },
    /// Take a cluster away, whole or not
    Down {
        #[command(flatten)]
        name: Name,
    },
    /// Tell which clusters there are
    Status,
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
        Command::Image(arguments) => image::archive::run(&arguments),
        Command::Cluster(command) => run_cluster(command),
        Command::Generate(generate) => generate.run(layout::repository()),
        Command::Modules => modules::run(),
        Command::ClusterInit { setup } => cluster::init::run(&setup),
        Command::ClusterForward { init } => cluster::forward::run(init),
    }
}

fn run_cluster(command: ClusterCommand) -> Result<()> {
    match command {
        ClusterCommand::Up {
            name,
            control_plane_only,
            images,
        } => {
            let cluster = Cluster::up(&Options {
                name: name.name,
                node: !control_plane_only,
                images,
            })?;
            console::print(&cluster.exports());
        }
        ClusterCommand::Load { name, images } => {
            let Some(cluster) = Cluster::find(&name.name)? else {
                bail!(
                    "cluster {0} is not up: `cargo xtask cluster up --name {0}`",
                    name.name
                );
            };
            let wanted = if images.is_empty() {
                vec![image::controller::image(&image::controller::build_for_tests()?)?]
            } else {
                let cache = Cache::open()?;
                images
                    .iter()
                    .map(|extra| extra.image(&cache))
                    .collect::<Result<_>>()?
            };
            for image in &wanted {
                cluster.import(image)?;
                console::print(&image.reference);
            }
        }
        ClusterCommand::Down { name } => {
            let there = cluster::down(&name.name)?;
            say!(
                "{}",
                if there {
                    "down"
                } else {
                    "there was no such cluster"
                }
            );
        }
        ClusterCommand::Status => {
            let lines = cluster::status()?;
            let text = if lines.is_empty() {
                "no cluster".to_owned()
            } else {
                lines.join("\n")
            };
            console::print(&text);
        }
    }
    Ok(())
}
