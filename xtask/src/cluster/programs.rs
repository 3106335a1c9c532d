//! The programs and images of a cluster, made before anything is started.

use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Result, anyhow, bail};

use super::{jobset, store};
use crate::build::debian;
use crate::build::go::{self, Program, Toolchain};
use crate::cache::Cache;
use crate::image::Image;
use crate::image::catalog::{self, Extra};

/// Paths of everything that a cluster runs.
pub(crate) struct Programs {
    built: Vec<(Program, PathBuf)>,
    /// containerd's folder with the images in it; none without a node.
    pub(super) image_store: Option<PathBuf>,
    pub(super) images: Vec<Image>,
    /// JobSet's own manifests, as a JSON list.
    pub(super) jobset_manifests: Option<PathBuf>,
}

/// In the order in which they are built: what else needs first, then the longest.
const CONTROL_PLANE: [Program; 5] = [
    go::KUBECTL,
    go::ETCD,
    go::KUBE_APISERVER,
    go::KUBE_CONTROLLER_MANAGER,
    go::KUBE_SCHEDULER,
];
const NODE: [Program; 4] = [go::KUBELET, go::KUBE_PROXY, go::COREDNS, go::JOBSET];

impl Programs {
    /// Makes what is missing. Compiling and downloading use different things, so they go on side by side.
    pub(crate) fn prepare(cache: &Cache, node: bool, extras: &[Extra]) -> Result<Self> {
        debian::ensure_packages()?;
        let toolchain = Toolchain::find()?;
        thread::scope(|scope| {
            let images = scope.spawn(|| -> Result<Vec<Image>> {
                if node {
                    catalog::prepare(cache, &toolchain, extras)
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
            let images = images.join().map_err(|_| anyhow!("making the images failed"))?;
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

    pub(crate) fn path(&self, program: Program) -> Result<&Path> {
        match self.built.iter().find(|(known, _)| *known == program) {
            Some((_, path)) => Ok(path),
            None => bail!("{} is not part of this cluster", program.name),
        }
    }
}
