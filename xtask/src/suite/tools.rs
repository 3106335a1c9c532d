//! Programs that the tests run, apart from the cluster's own.

use std::path::PathBuf;

use anyhow::Result;
use local_cluster::build::go::{self, Toolchain};
use local_cluster::cache::Cache;
use local_cluster::image::kueue::Kueue;

use super::Step;
use crate::sdk;

/// Programs that the tests of some steps run.
pub(super) struct Tools {
    pub(super) helm: PathBuf,
    pub(super) kubectl: PathBuf,
    /// For the step [`Step::Cluster`].
    pub(super) clients: Option<Clients>,
}

/// What users of a cluster have on it.
pub(super) struct Clients {
    /// Python with the Kubeflow SDK.
    pub(super) sdk: PathBuf,
    pub(super) kueue: Kueue,
}

/// The cluster on which steps run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Where {
    /// One made for them.
    New,
    Existing,
}

impl Tools {
    /// Builds what these steps need, the programs of a new cluster included. Needs Go.
    pub(super) fn build(steps: &[Step], cluster: Where) -> Result<Self> {
        let (toolchain, cache) = (Toolchain::find()?, Cache::open()?);
        let kubectl = toolchain.build(&cache, go::KUBECTL)?;
        let helm = toolchain.build(&cache, go::HELM)?;
        let sdk = if steps.contains(&Step::Cluster) {
            Some(sdk::interpreter(&cache)?)
        } else {
            None
        };
        if cluster == Where::New {
            for programs in steps.iter().filter_map(|step| step.programs()) {
                programs.cluster().prepare(&cache)?;
            }
        }
        let clients = match sdk {
            Some(sdk) => Some(Clients {
                sdk,
                kueue: Kueue::prepare(&cache, &toolchain)?,
            }),
            None => None,
        };
        Ok(Self {
            helm,
            kubectl,
            clients,
        })
    }
}
