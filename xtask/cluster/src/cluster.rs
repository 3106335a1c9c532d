//! Clusters by name: brings them up, finds them again, and lists them.

use std::path::PathBuf;

use anyhow::{Result, bail};
use nix::unistd::geteuid;

use crate::build::go::{self, Toolchain};
use crate::cache::{self, Cache};
use crate::image::Image;
use crate::image::catalog::Extra;
use crate::init;
use crate::kubectl::Kubectl;
use crate::namespaces::Namespaces;
use crate::programs::Programs;
use crate::removal::{Keep, remove};
use crate::say;
use crate::state::{Record, State};
use crate::store;
use crate::up::bring_up;

/// What kind of cluster to bring up.
#[derive(Clone, Debug)]
pub struct Options {
    /// Up to 20 lower-case letters, digits and `-`. Clusters of different names can be up at once.
    pub name: String,
    /// With a node that runs pods, and JobSet. Otherwise only an API server with its controllers and scheduler.
    pub node: bool,
    /// Images beside those that every cluster has.
    pub images: Vec<Extra>,
}

/// A cluster that is up.
#[derive(Debug)]
pub struct Cluster {
    state: State,
    namespaces: Namespaces,
    kubectl: Kubectl,
}

impl Options {
    /// Builds the programs and images of such a cluster without starting it.
    pub fn prepare(&self, cache: &Cache) -> Result<()> {
        Programs::prepare(cache, self.node, &self.images)?;
        Ok(())
    }
}

impl Cluster {
    /// Brings a cluster up. If that fails, removes everything but the logs.
    pub fn up(options: &Options) -> Result<Self> {
        if !geteuid().is_root() {
            bail!("the cluster needs root: it makes namespaces, mounts and control groups");
        }
        let state = State::of(&options.name)?;
        if let Some(cluster) = Self::find(&options.name)? {
            say!("cluster {} is up already", options.name);
            return Ok(cluster);
        }
        if state.load()?.is_some() {
            bail!(
                "cluster {0} is incomplete: run `cargo xtask cluster down --name {0}` first",
                options.name
            );
        }
        let cache = Cache::open()?;
        refuse_hidden_folders(&state, &cache)?;
        let programs = Programs::prepare(&cache, options.node, &options.images)?;
        cache::remove(&state.folder)?;
        let up = bring_up(&state, &programs, options.node).map_err(|error| {
            if let Err(left) = remove(&state, Keep::Logs) {
                say!("cleaning up: {left:#}");
            }
            error.context(format!(
                "cluster {} did not come up; logs are in {}",
                state.name,
                state.logs().display()
            ))
        });
        Ok(Self::of(state.clone(), up?))
    }

    /// Finds the cluster of a name, if it is up and complete.
    pub fn find(name: &str) -> Result<Option<Self>> {
        let state = State::of(name)?;
        let Some(record) = state.load()? else {
            return Ok(None);
        };
        match record.init {
            Some(init) if record.ready && init.alive() => Ok(Some(Self::of(state, Namespaces::of(init)))),
            _ => Ok(None),
        }
    }

    fn of(state: State, namespaces: Namespaces) -> Self {
        Self {
            kubectl: Kubectl::new(&state.path("bin/kubectl"), state.kubeconfig()),
            namespaces,
            state,
        }
    }

    /// Removes the cluster.
    pub fn down(self) -> Result<()> {
        remove(&self.state, Keep::Nothing)
    }

    /// Removes the cluster but keeps its logs, and returns their folder.
    pub fn down_keeping_logs(self) -> Result<PathBuf> {
        remove(&self.state, Keep::Logs)?;
        Ok(self.state.logs())
    }

    /// Returns kubectl with all rights on the cluster.
    pub fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    /// Returns the administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        self.state.kubeconfig()
    }

    /// Returns the audit log: one line for each API request, except those of the cluster's own components.
    pub fn audit_log(&self) -> PathBuf {
        self.state.audit_log()
    }

    /// Builds Helm, and adds it to the programs of [`Self::exports`].
    pub fn add_helm(&self) -> Result<PathBuf> {
        let helm = Toolchain::find()?.build(&Cache::open()?, go::HELM)?;
        go::link_into(&self.programs(), &[("helm", &helm)])?;
        Ok(helm)
    }

    /// Imports an image. Pods find it by its reference.
    pub fn import(&self, image: &Image) -> Result<()> {
        store::import(
            &self.namespaces,
            image,
            // Several imports may run at once.
            &self.state.path(&format!("layout-{}", std::process::id())),
            &self.state.log("import"),
        )
    }

    /// Returns the lines that a shell needs to use the cluster.
    pub fn exports(&self) -> String {
        format!(
            "export KUBECONFIG={}\nexport PATH={}:$PATH",
            self.kubeconfig().display(),
            self.programs().display()
        )
    }

    /// The folder with `kubectl`, and with `helm` after [`Self::add_helm`].
    fn programs(&self) -> PathBuf {
        self.state.path("bin")
    }
}

/// Fails when a folder of the machine would be hidden in the cluster's namespaces.
fn refuse_hidden_folders(state: &State, cache: &Cache) -> Result<()> {
    for folder in [&state.folder, cache.root()] {
        if let Some(hidden) = init::OWN_FOLDERS.iter().find(|hidden| folder.starts_with(hidden)) {
            bail!(
                "{} is in {hidden}, which is empty in the cluster: choose another folder",
                folder.display()
            );
        }
    }
    Ok(())
}

/// Describes each cluster of this repository in one line.
pub fn status() -> Result<Vec<String>> {
    State::list()?.iter().map(describe).collect()
}

fn describe(state: &State) -> Result<String> {
    let name = &state.name;
    Ok(match state.load()? {
        None => format!(
            "{name}: down; logs of its last run are in {}",
            state.logs().display()
        ),
        Some(Record {
            init: Some(init),
            ready: true,
            node,
            images,
            ..
        }) if init.alive() => {
            let kind = if node {
                "node and control plane"
            } else {
                "control plane only"
            };
            let images = if images.is_empty() {
                "none".to_owned()
            } else {
                images.join(", ")
            };
            format!(
                "{name}: up ({kind}), process {}, images: {images}\n  export KUBECONFIG={}",
                init.id(),
                state.kubeconfig().display(),
            )
        }
        Some(_) => format!("{name}: incomplete; remove it with `cargo xtask cluster down --name {name}`"),
    })
}
