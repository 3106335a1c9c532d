//! `cargo xtask cluster`: the local cluster by name.

use anyhow::{Result, bail};
use clap::{Args, Subcommand};
use local_cluster::cache::Cache;
use local_cluster::image::catalog::Extra;
use local_cluster::{Cluster, Options, console, say};

use crate::image::controller;

#[derive(Args)]
pub(crate) struct Name {
    /// Which cluster; several can be up at once
    #[arg(long, default_value = "dev")]
    name: String,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Bring a cluster up, and print what a shell needs to use it
    Up {
        #[command(flatten)]
        name: Name,
        /// Only etcd, API server, controllers and scheduler: no node, no JobSet
        #[arg(long)]
        control_plane_only: bool,
        /// An image in addition to localhost/python:1
        #[arg(long = "image", value_enum, conflicts_with = "control_plane_only")]
        images: Vec<Extra>,
    },
    /// Import images into a cluster; without names, the controller's, built with debug assertions
    Load {
        #[command(flatten)]
        name: Name,
        /// An image to import instead of the controller's
        #[arg(long = "image", value_enum)]
        images: Vec<Extra>,
    },
    /// Remove a cluster, complete or not
    Down {
        #[command(flatten)]
        name: Name,
    },
    /// List the clusters
    Status,
}

pub(crate) fn run(command: Command) -> Result<()> {
    match command {
        Command::Up {
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
        Command::Load { name, images } => load(&name.name, &images)?,
        Command::Down { name } => {
            if local_cluster::down(&name.name)? {
                say!("cluster {} is removed", name.name);
            } else {
                say!("there is no cluster {}", name.name);
            }
        }
        Command::Status => {
            let lines = local_cluster::status()?;
            if lines.is_empty() {
                console::print("no cluster");
            }
            for line in lines {
                console::print(&line);
            }
        }
    }
    Ok(())
}

fn load(name: &str, images: &[Extra]) -> Result<()> {
    let Some(cluster) = Cluster::find(name)? else {
        bail!("cluster {name} is not up: run `cargo xtask cluster up --name {name}` first");
    };
    let wanted = if images.is_empty() {
        vec![controller::image(&controller::build_for_tests()?)?]
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
    Ok(())
}
