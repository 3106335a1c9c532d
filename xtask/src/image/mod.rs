//! `cargo xtask image`: the controller's image as a file, for machines without Docker.

pub(crate) mod controller;

use std::path::PathBuf;

use anyhow::{Result, bail};
use local_cluster::{console, say};

use crate::helm::Reference;
use crate::layout;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The name of the image: REGISTRY/REPOSITORY:TAG
    #[arg(long, value_name = "REF")]
    reference: String,
    /// The file to write; it is an OCI archive that `docker load` reads too
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Builds the controller's release, and writes its image.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let reference = &arguments.reference;
    let parts = Reference::parse(reference);
    if format!("{}/{}:{}", parts.registry, parts.repository, parts.tag) != *reference || parts.tag.is_empty()
    {
        bail!("--reference must be REGISTRY/REPOSITORY:TAG, got {reference:?}");
    }
    let mut image = controller::image(&controller::build_release()?)?;
    image.reference.clone_from(reference);
    let scratch = layout::target().join(format!("image-{}", std::process::id()));
    image.save(&std::path::absolute(&arguments.file)?, &scratch)?;
    say!("{reference} ({} MB)", image.size()? / 1_000_000);
    let file = arguments.file.display();
    console::print(&format!(
        "into a registry:  skopeo copy oci-archive:{file} docker://{reference}\n\
         with Docker:      docker load -i {file} && docker push {reference}\n\
         onto a node:      ctr --namespace k8s.io images import {file}"
    ));
    Ok(())
}
