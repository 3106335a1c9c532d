//! The images that a cluster can start with.
//!
//! Those of frameworks have the names of public images, so that the shipped runtimes and the examples run unchanged. They
//! hold the framework's wheels for the CPU on Debian's Python.

use anyhow::Result;
use serde_json::{Value, json};

use super::Image;
use super::layer;
use crate::build::go::{self, Toolchain};
use crate::build::{debian, python};
use crate::cache::Cache;

/// The pod sandbox. containerd's settings name it.
pub const PAUSE: &str = "localhost/pause:1";
/// Python and an SSH server, for ordinary test pods.
pub const PYTHON: &str = "localhost/python:1";

/// An image on demand. Every cluster also has the pod sandbox's and `localhost/python:1`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum Extra {
    /// PyTorch, as the runtime torch-distributed names it
    Torch,
    /// JAX, as the runtime jax-distributed names it
    Jax,
    /// XGBoost, as the runtime xgboost-distributed names it
    Xgboost,
    /// LightGBM, which no shipped runtime names: localhost/lightgbm:1
    Lightgbm,
    /// TensorFlow
    Tensorflow,
    /// `PaddlePaddle`
    Paddle,
    /// `PaddlePaddle` 2, which has parameter servers, as the runtime paddle-parameter-server names it
    Paddle2,
    /// `DeepSpeed` on PyTorch and Open MPI 4, as the runtime deepspeed-distributed names it
    Deepspeed,
    /// MLX on Open MPI 4, as the runtime mlx-distributed names it
    Mlx,
    /// Open MPI 4 with mpi4py, as the runtime mpi-distributed names it
    Openmpi,
    /// Open MPI 5 with mpi4py, which no shipped runtime names: localhost/openmpi:5
    Openmpi5,
    /// MPICH with mpi4py, as the runtime mpi-mpich-distributed names it
    Mpich,
    /// Intel MPI with mpi4py, as the runtime mpi-intel-distributed names it
    IntelMpi,
}

/// How an image is built.
struct Recipe {
    reference: &'static str,
    /// Folders in `images/`, from the bottom up. Images share their common lowest layers.
    layers: &'static [&'static str],
    working_dir: &'static str,
    /// Variables in addition to those of every Python image.
    env: &'static [&'static str],
}

const WORKSPACE: &str = "/workspace";
const MPI_HOME: &str = "/home/mpiuser";
const MPI_ENV: &[&str] = &["HOME=/home/mpiuser"];

impl Extra {
    /// Returns all of them.
    pub fn all() -> &'static [Self] {
        <Self as clap::ValueEnum>::value_variants()
    }

    /// Returns the image, and builds it if necessary.
    pub fn image(self, cache: &Cache) -> Result<Image> {
        let recipe = self.recipe();
        Ok(Image {
            reference: recipe.reference.to_owned(),
            layers: python::layers(cache, recipe.layers)?,
            config: python_config(recipe.working_dir, recipe.env),
        })
    }

    const fn recipe(self) -> Recipe {
        let (reference, layers): (&str, &[&str]) = match self {
            Self::Torch => (
                "docker.io/pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime",
                &["science", "torch"],
            ),
            Self::Jax => ("nvcr.io/nvidia/jax:25.10-py3", &["science", "jax"]),
            Self::Xgboost => (
                "ghcr.io/kubeflow/trainer/xgboost-runtime:latest",
                &["science", "xgboost"],
            ),
            Self::Lightgbm => ("localhost/lightgbm:1", &["science", "lightgbm"]),
            Self::Tensorflow => (
                "docker.io/tensorflow/tensorflow:2.21.0",
                &["science", "tensorflow"],
            ),
            Self::Paddle => ("docker.io/paddlepaddle/paddle:3.3.1", &["science", "paddle"]),
            Self::Paddle2 => ("docker.io/paddlepaddle/paddle:2.6.2", &["paddle2"]),
            Self::Deepspeed => (
                "ghcr.io/kubeflow/trainer/deepspeed-runtime:latest",
                &["science", "torch", "ssh", "openmpi", "deepspeed"],
            ),
            Self::Mlx => (
                "ghcr.io/kubeflow/trainer/mlx-runtime:latest",
                &["science", "ssh", "openmpi", "mlx"],
            ),
            Self::Openmpi => (
                "docker.io/mpioperator/openmpi:v0.8.0",
                &["science", "ssh", "openmpi"],
            ),
            Self::Openmpi5 => ("localhost/openmpi:5", &["science", "ssh", "openmpi5"]),
            Self::Mpich => ("docker.io/mpioperator/mpich:v0.8.0", &["science", "ssh", "mpich"]),
            Self::IntelMpi => (
                "docker.io/mpioperator/intel:v0.8.0",
                &["science", "ssh", "intel-mpi"],
            ),
        };
        let (working_dir, env): (_, &[_]) = match self {
            Self::Deepspeed | Self::Mlx | Self::Openmpi | Self::Openmpi5 | Self::Mpich | Self::IntelMpi => {
                (MPI_HOME, MPI_ENV)
            }
            _ => (WORKSPACE, &[]),
        };
        Recipe {
            reference,
            layers,
            working_dir,
            env,
        }
    }
}

/// Builds what is missing, and returns all images of a cluster: the pod sandbox's first.
pub(crate) fn all(cache: &Cache, toolchain: &Toolchain, extras: &[Extra]) -> Result<Vec<Image>> {
    let sandbox = Image {
        reference: PAUSE.to_owned(),
        layers: vec![layer::of_program(cache, toolchain, go::PAUSE, "pause")?],
        config: json!({"Entrypoint": ["/pause"]}),
    };
    let mut images = vec![sandbox];
    images.extend(for_pods(cache, extras)?);
    Ok(images)
}

/// Builds what is missing, and returns the images of test pods: `localhost/python:1`, and those on demand.
pub fn for_pods(cache: &Cache, extras: &[Extra]) -> Result<Vec<Image>> {
    debian::ensure_packages(&debian::FOR_IMAGES)?;
    let mut images = vec![Image {
        reference: PYTHON.to_owned(),
        layers: python::layers(cache, &[])?,
        config: python_config("/", &[]),
    }];
    // In the order of the catalogue: the same images in any order are the same set.
    for extra in Extra::all().iter().filter(|extra| extras.contains(extra)) {
        images.push(extra.image(cache)?);
    }
    Ok(images)
}

fn python_config(working_dir: &str, more: &[&str]) -> Value {
    let mut env = vec![
        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        "LANG=C.UTF-8",
    ];
    env.extend(more);
    json!({"Cmd": ["python3"], "Env": env, "WorkingDir": working_dir})
}
