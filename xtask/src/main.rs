//! Developer tasks of this repository: `cargo xtask --help`.

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
mod process;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};

use cluster::{Cluster, Options};
use console::say;
use image::catalog::Extra;

/// Developer tasks of the trainer repository
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// From nothing to a trained model: a cluster, the chart, and a distributed PyTorch run to watch
    Demo(demo::Arguments),

    /// A real one-node Kubernetes cluster on this machine, without Docker or a registry
    #[command(subcommand)]
    Cluster(ClusterCommand),

    /// Write the files that are made from other files: CRDs, and the chart's copies of CRDs and runtimes
    Generate(generate::Generate),

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
    /// Bring a cluster up; what it consists of is built from source first, once
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
        Command::Cluster(ClusterCommand::Up {
            name,
            control_plane_only,
            images,
        }) => {
            let cluster = Cluster::up(&Options {
                name: name.name,
                node: !control_plane_only,
                images,
            })?;
            console::print(&cluster.exports());
            Ok(())
        }
        Command::Cluster(ClusterCommand::Down { name }) => {
            let there = cluster::down(&name.name)?;
            say!(
                "{}",
                if there {
                    "down"
                } else {
                    "there was no such cluster"
                }
            );
            Ok(())
        }
        Command::Cluster(ClusterCommand::Status) => {
            let lines = cluster::status()?;
            console::print(if lines.is_empty() { "no cluster" } else { "" }.trim());
            lines.iter().for_each(|line| console::print(line));
            Ok(())
        }
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Generate(generate) => generate.run(layout::repository()),
        Command::ClusterInit { setup } => cluster::init::run(&setup),
        Command::ClusterForward { init } => cluster::forward::run(init),
    }
}
