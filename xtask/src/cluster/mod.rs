//! A real one-node Kubernetes cluster without Docker, systemd or an image registry.
//!
//! All components are ordinary processes in namespaces of the cluster's own ([`namespaces`]); what they keep is in one
//! folder ([`state`]); what they change on the machine is noted and put back ([`machine`]). Programs and images are made
//! once and cached ([`programs`]).

mod control_plane;
pub(crate) mod forward;
pub(crate) mod init;
mod jobset;
mod machine;
mod namespaces;
mod network;
mod node;
mod pki;
mod process_id;
pub(crate) mod programs;
mod state;
mod store;

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::sys::signal::Signal;
use nix::unistd::geteuid;

use crate::build::go::{self, Program, Toolchain};
use crate::cache::{self, Cache};
use crate::console::say;
use crate::image::Image;
use crate::image::catalog::Extra;
use crate::interrupt;
use crate::kubectl::Kubectl;
use crate::process::poll;
use namespaces::{Component, Namespaces, Setup};
use pki::Pki;
use programs::Programs;
use state::{Record, State};

/// What kind of cluster to bring up.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) name: String,
    /// With a node that runs pods, and JobSet; else only an API server with its controllers and scheduler.
    pub(crate) node: bool,
    pub(crate) images: Vec<Extra>,
}

/// A cluster that is up.
#[derive(Debug)]
pub(crate) struct Cluster {
    state: State,
    namespaces: Namespaces,
    kubectl: Kubectl,
}

/// A cluster that is coming up.
struct Boot<'a> {
    state: &'a State,
    programs: &'a Programs,
    namespaces: Namespaces,
    pki: Pki,
    kubectl: Kubectl,
    components: Vec<Component>,
}

impl Cluster {
    /// Brings a cluster up; takes away what a failed attempt leaves, except for its logs.
    pub(crate) fn up(options: &Options) -> Result<Self> {
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
                "cluster {0} did not end well: run `cargo xtask cluster down --name {0}` first",
                options.name
            );
        }
        let cache = Cache::open()?;
        for folder in [&state.folder, cache.root()] {
            if let Some(hidden) = init::OWN_FOLDERS.iter().find(|hidden| folder.starts_with(hidden)) {
                bail!(
                    "{} is below {hidden}, which a cluster has for itself: choose another folder",
                    folder.display()
                );
            }
        }
        let programs = Programs::prepare(&cache, options.node, &options.images)?;
        cache::remove(&state.folder)?;
        match Boot::run(&state, &programs, options.node) {
            Ok(cluster) => Ok(cluster),
            Err(error) => {
                interrupt::shielded(|| {
                    if let Err(left) = take_away(&state, Keep::Logs) {
                        say!("cleaning up: {left:#}");
                    }
                });
                Err(error.context(format!(
                    "cluster {} did not come up; logs are in {}",
                    state.name,
                    state.logs().display()
                )))
            }
        }
    }

    /// The cluster of that name, if it is up and whole.
    pub(crate) fn find(name: &str) -> Result<Option<Self>> {
        let state = State::of(name)?;
        let Some(record) = state.load()? else {
            return Ok(None);
        };
        match record.init {
            Some(init) if record.ready && init.alive() => {
                let kubectl = Kubectl::new(&state.path("bin/kubectl"), state.kubeconfig());
                Ok(Some(Self {
                    namespaces: Namespaces::of(init),
                    kubectl,
                    state,
                }))
            }
            _ => Ok(None),
        }
    }

    /// Takes the cluster away.
    pub(crate) fn down(self) -> Result<()> {
        interrupt::shielded(|| take_away(&self.state, Keep::Nothing))
    }

    /// Takes the cluster away and keeps its logs, to look into what went wrong.
    pub(crate) fn down_keeping_logs(self) -> Result<PathBuf> {
        interrupt::shielded(|| take_away(&self.state, Keep::Logs))?;
        Ok(self.state.logs())
    }

    pub(crate) fn kubectl(&self) -> &Kubectl {
        &self.kubectl
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.state.kubeconfig()
    }

    /// One line a request to the API, of all users but the cluster's own components.
    pub(crate) fn audit_log(&self) -> PathBuf {
        self.state.path("audit.log")
    }

    /// A folder with `kubectl` (and `helm` after [`Cluster::add_helm`]).
    pub(crate) fn programs(&self) -> PathBuf {
        self.state.path("bin")
    }

    /// Makes `helm` for this cluster.
    pub(crate) fn add_helm(&self) -> Result<PathBuf> {
        let helm = Toolchain::find()?.build(&Cache::open()?, go::HELM)?;
        go::link_into(&self.programs(), &[("helm", &helm)])?;
        Ok(helm)
    }

    /// Brings an image into the cluster; pods find it under its reference without a registry.
    pub(crate) fn import(&self, image: &Image) -> Result<()> {
        store::import(
            &self.namespaces,
            image,
            // Several may be on their way at once.
            &self.state.path(&format!("layout-{}", std::process::id())),
            &self.state.log("import"),
        )
    }

    /// The lines that a shell needs to use the cluster.
    pub(crate) fn exports(&self) -> String {
        format!(
            "export KUBECONFIG={}\nexport PATH={}:$PATH",
            self.kubeconfig().display(),
            self.programs().display()
        )
    }
}

/// Takes the cluster of that name away, whole or not; says whether there was one.
pub(crate) fn down(name: &str) -> Result<bool> {
    let state = State::of(name)?;
    let there = state.folder.exists();
    interrupt::shielded(|| take_away(&state, Keep::Nothing))?;
    Ok(there)
}

/// A line on each cluster of this repository.
pub(crate) fn status() -> Result<Vec<String>> {
    let mut lines = Vec::new();
    for state in State::list()? {
        let line = match state.load()? {
            None => format!(
                "{}: down; logs of its last run are in {}",
                state.name,
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
                format!(
                    "{}: up ({kind}), process {}, images: {}\n  export KUBECONFIG={}",
                    state.name,
                    init.id(),
                    if images.is_empty() {
                        "none".to_owned()
                    } else {
                        images.join(", ")
                    },
                    state.kubeconfig().display(),
                )
            }
            Some(_) => format!(
                "{0}: not whole; remove it with `cargo xtask cluster down --name {0}`",
                state.name
            ),
        };
        lines.push(line);
    }
    Ok(lines)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keep {
    Nothing,
    Logs,
}

/// Ends a cluster's processes, puts the machine back and removes the cluster's folder. It works from any state in which
/// a start or an earlier attempt at this may have stopped.
fn take_away(state: &State, keep: Keep) -> Result<()> {
    if !state.folder.exists() {
        return Ok(());
    }
    let record = state.load()?.unwrap_or_default();
    if let Some(forward) = &record.forward {
        forward.end(Signal::SIGKILL, Duration::from_secs(5))?;
    }
    if let Some(init) = record.init {
        Namespaces::of(init).end()?;
    }
    machine::give_back(state)?;
    let mounts = fs::read_to_string("/proc/self/mounts")?;
    if let Some(mount) = mounts
        .lines()
        .find(|line| line.contains(&format!(" {}/", state.folder.display())))
    {
        bail!(
            "not removing {}, since something is mounted there: {mount}",
            state.folder.display()
        );
    }
    if keep == Keep::Nothing {
        return cache::remove(&state.folder);
    }
    for entry in fs::read_dir(&state.folder)? {
        let path = entry?.path();
        if path == state.logs() || path == state.path("audit.log") {
            continue;
        }
        if path.is_dir() {
            fs::remove_dir_all(&path)?;
        } else {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

impl<'a> Boot<'a> {
    fn run(state: &'a State, programs: &'a Programs, with_node: bool) -> Result<Cluster> {
        let mut record = Record {
            node: with_node,
            images: programs
                .images
                .iter()
                .map(|image| image.reference.clone())
                .collect(),
            ..Record::default()
        };
        // From here on there is something to take away.
        state.save(&record)?;
        machine::take(state)?;
        let binds = if with_node { node::binds(state) } else { Vec::new() };
        let setup = Setup {
            scratch: state.path("scratch"),
            binds,
        };
        let namespaces = Namespaces::create(&setup, &state.log("init"))?;
        record.init = Some(namespaces.init().clone());
        state.save(&record)?;
        let (forward, port) = forward::start(&namespaces, &state.log("forward"))?;
        record.forward = Some(forward);
        record.port = Some(port);
        state.save(&record)?;

        let pki = Pki::create(state)?;
        let kubeconfig = pki.admin_kubeconfig(&state.kubeconfig(), port)?;
        let kubectl_program = programs.path(go::KUBECTL)?;
        go::link_into(&state.path("bin"), &[("kubectl", kubectl_program)])?;
        let kubectl = Kubectl::new(kubectl_program, kubeconfig);
        let mut boot = Boot {
            state,
            programs,
            namespaces,
            pki,
            kubectl,
            components: Vec::new(),
        };

        control_plane::start_storage_and_api(&mut boot)?;
        if with_node {
            node::start_containerd(&mut boot)?;
        }
        boot.wait(90, "the API server", |boot| {
            boot.kubectl.succeeds(&["get", "--raw", "/readyz"])
        })?;
        say!("API server ready");
        control_plane::start_controllers(&mut boot)?;
        if with_node {
            boot.bring_up_node()?;
        }
        boot.wait(60, "the service account controller", |boot| {
            boot.kubectl
                .succeeds(&["get", "serviceaccount", "default", "--namespace", "default"])
        })?;
        record.ready = true;
        state.save(&record)?;
        say!("cluster {} is up", state.name);
        let kubectl = Kubectl::new(&state.path("bin/kubectl"), state.kubeconfig());
        Ok(Cluster {
            state: state.clone(),
            namespaces: boot.namespaces,
            kubectl,
        })
    }

    fn bring_up_node(&mut self) -> Result<()> {
        let namespaces = self.namespaces.clone();
        self.wait(30, "containerd", |_| {
            Ok(namespaces.task("ctr").arg("version").finish()?.status.success())
        })?;
        node::keep_images(self)?;
        node::start_kubelet_and_proxy(self)?;
        node::start_dns(self)?;
        jobset::start(self)?;
        self.wait_for_http("JobSet", network::JOBSET_HEALTH_PORT, "/readyz")?;
        jobset::finish(self)?;
        say!("JobSet ready");
        self.wait(60, "the node", |boot| {
            let node = boot.kubectl.find(&["get", "node", network::NODE])?;
            let ready = |node: serde_json::Value| {
                let conditions = node["status"]["conditions"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                conditions
                    .iter()
                    .any(|condition| condition["type"] == "Ready" && condition["status"] == "True")
            };
            Ok(node.is_some_and(ready))
        })?;
        self.wait_for_http("CoreDNS", network::DNS_READY_PORT, "/ready")?;
        self.wait_for_http("kube-proxy", network::PROXY_HEALTH_PORT, "/healthz")?;
        say!("node ready");
        Ok(())
    }

    /// Starts one of the Go programs inside.
    fn start<S: AsRef<OsStr>>(&mut self, program: Program, arguments: &[S]) -> Result<()> {
        let log = self.state.log(program.name);
        let path: &Path = self.programs.path(program)?;
        let child = self
            .namespaces
            .lasting(path)
            .args(arguments)
            .detached(&log)
            .context(program.name)?;
        self.components.push(Component::new(program.name, child, log));
        Ok(())
    }

    /// Waits for a condition; an early end of any component ends the wait.
    fn wait(&mut self, seconds: u64, what: &str, mut ready: impl FnMut(&Self) -> Result<bool>) -> Result<()> {
        poll(Duration::from_secs(seconds), what, || {
            for component in &mut self.components {
                component.check()?;
            }
            ready(self)
        })
    }

    fn wait_for_http(&mut self, what: &str, port: u16, path: &str) -> Result<()> {
        self.wait(60, what, |boot| boot.namespaces.answers(port, path))
    }
}
