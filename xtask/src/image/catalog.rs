//! The images that a cluster can start with.

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};

use super::Image;
use super::layer::{self, Layer};
use crate::build::go::{self, Toolchain};
use crate::build::{debian, python};
use crate::cache::{Cache, Key};

/// The pod sandbox, named in containerd's settings.
pub(crate) const PAUSE: &str = "localhost/pause:1";
/// Python and an SSH server, for ordinary test pods.
pub(crate) const PYTHON: &str = "localhost/python:1";
/// The image that the shipped runtime `torch-distributed` names; ours is a stand-in for the CPU with the same PyTorch
/// release.
pub(crate) const TORCH: &str = "docker.io/pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime";

/// An image on demand; every cluster has the pod sandbox's and `localhost/python:1` anyway.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Extra {
    /// PyTorch for the CPU, under the name that the runtime torch-distributed uses
    Torch,
}

/// Makes what is missing and returns all images of a cluster.
pub(crate) fn prepare(cache: &Cache, toolchain: &Toolchain, extras: &[Extra]) -> Result<Vec<Image>> {
    let rootfs = debian::python_rootfs(cache)?;
    let mut images = vec![
        Image {
            reference: PAUSE.to_owned(),
            layers: vec![pause(cache, toolchain)?],
            config: json!({"Entrypoint": ["/pause"]}),
        },
        Image {
            reference: PYTHON.to_owned(),
            layers: vec![rootfs.clone()],
            config: python_config("/"),
        },
    ];
    if extras.contains(&Extra::Torch) {
        images.push(Image {
            reference: TORCH.to_owned(),
            layers: vec![rootfs.clone(), python::torch(cache, &rootfs)?],
            config: python_config("/workspace"),
        });
    }
    Ok(images)
}

fn python_config(working_dir: &str) -> Value {
    json!({
        "Cmd": ["python3"],
        "Env": ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8"],
        "WorkingDir": working_dir,
    })
}

fn pause(cache: &Cache, toolchain: &Toolchain) -> Result<Layer> {
    let program = toolchain.build(cache, go::PAUSE)?;
    let key = Key::new("pause layer 1").with_file(&program)?;
    let folder = cache.artefact("layers/pause", key, |draft| {
        let root = draft.join("root");
        fs::create_dir_all(&root)?;
        fs::copy(&program, root.join("pause"))?;
        layer::seal(draft, &root)
    })?;
    Layer::open(folder)
}
