//! The programs and images of a cluster, built before anything is started.

use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Result, anyhow, bail};

use crate::build::debian;
use crate::build::go::{self, Program, Toolchain};
use crate::cache::Cache;
use crate::image::Image;
use crate::image::catalog::{self, Extra};
use crate::{jobset, store};

/// Paths of everything that a cluster runs.
pub(crate) struct Programs {
    built: Vec<(Program, PathBuf)>,
    /// containerd's folder with the images in it; `None` without a node.
    pub(crate) image_store: Option<PathBuf>,
    pub(crate) images: Vec<Image>,
    /// The manifests of JobSet's release, as a JSON list; `None` without a node.
    pub(crate) jobset_manifests: Option<PathBuf>,
}

/// In build order: what others need first, then what takes longest.
const CONTROL_PLANE: [Program; 5] = [
    go::KUBECTL,
    go::ETCD,
    go::KUBE_APISERVER,
    go::KUBE_CONTROLLER_MANAGER,
    go::KUBE_SCHEDULER,
];
const NODE: [Program; 4] = [go::KUBELET, go::KUBE_PROXY, go::COREDNS, go::JOBSET];

impl Programs {
    /// Builds what is missing. Compiling uses the processors and downloading the network, so they run at the same time.
    pub(crate) fn prepare(cache: &Cache, node: bool, extras: &[Extra]) -> Result<Self> {
        debian::ensure_packages(&debian::FOR_CLUSTER)?;
        let toolchain = Toolchain::find()?;
        thread::scope(|scope| {
            let images = scope.spawn(|| -> Result<Vec<Image>> {
                if node {
                    catalog::all(cache, &toolchain, extras)
                } else {
                    Ok(Vec::new())
                }
            });
            let wanted = CONTROL_PLANE
                .iter()
                .chain(if node { NODE.iter() } else { [].iter() });
            let built = wanted
                .map(|program| Ok((*program, toolchain.build(cache, *program)?)))
                .collect::<Result<Vec<_>>>();
            let images = images
                .join()
                .map_err(|_| anyhow!("the thread that builds images panicked"))?;
            let (built, images) = (built?, images?);
            let mut programs = Self {
                built,
                image_store: None,
                images,
                jobset_manifests: None,
            };
            if node {
                programs.image_store = Some(store::prepare(cache, &programs.images)?);
                programs.jobset_manifests = Some(jobset::manifests(cache, programs.path(go::KUBECTL)?)?);
            }
            Ok(programs)
        })
    }

    /// Returns a program's path.
    pub(crate) fn path(&self, program: Program) -> Result<&Path> {
        match self.built.iter().find(|(known, _)| *known == program) {
            Some((_, path)) => Ok(path),
            None => bail!("{} is not part of this cluster", program.name),
        }
    }
}
