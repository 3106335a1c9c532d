//! A cluster that exists: is it fit for the tests, what does it lack, and what must be removed afterwards.
//!
//! The tests install Kubeflow Trainer's kinds, its controller and Kueue, and remove them. So they refuse a cluster that has
//! any of these.

use std::fs;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use local_cluster::image::Image;
use local_cluster::kubectl::Kubectl;
use local_cluster::process::Task;
use local_cluster::{image_policy, interrupt, say, target};

use super::loader::Loader;
use super::skips::Need;
use super::tools::Tools;
use crate::layout;

/// Namespaces of the tests with fixed names.
const NAMESPACES: [&str; 3] = ["trainer-test", "kubeflow-system", "kueue-system"];
/// Kinds that the tests install.
const INSTALLED: [(&str, &str); 2] = [
    ("trainjobs.trainer.kubeflow.org", "Kubeflow Trainer"),
    ("workloads.kueue.x-k8s.io", "Kueue"),
];

/// A cluster that exists.
pub(super) struct Existing {
    kubectl: Kubectl,
    helm: PathBuf,
    loader: Loader,
    /// The namespaces of [`NAMESPACES`] that did not exist.
    namespaces: Vec<&'static str>,
    serves_gangs: bool,
    serves_policies: bool,
    kubeconfig: PathBuf,
}

impl Existing {
    /// Connects to the cluster of a kubeconfig's current context. Fails if it lacks JobSet, or has what the tests would
    /// remove.
    pub(super) fn connect(kubeconfig: &Path, import: Option<&str>, tools: &Tools) -> Result<Self> {
        let own = target().join(format!("existing-{}.kubeconfig", std::process::id()));
        write_current_context(kubeconfig, tools, &own)?;
        let kubectl = Kubectl::new(&tools.kubectl, &own);
        refuse_unfit(&kubectl)?;
        let nodes = kubectl.find(&["get", "nodes"])?.unwrap_or_default();
        let loader = match import {
            Some(command) => Loader::Command(command.to_owned()),
            None => Loader::of(&nodes, &hostname()?)?,
        };
        let exists = |namespace: &&str| kubectl.succeeds(&["get", "namespace", namespace]);
        let mut namespaces = Vec::new();
        for namespace in NAMESPACES {
            if !exists(&namespace)? {
                namespaces.push(namespace);
            }
        }
        let serves = |path: &str, kind: &str| -> Result<bool> {
            let found = kubectl.task(["get", "--raw", path]).finish()?;
            Ok(found.text().contains(&format!("\"{kind}\"")))
        };
        Ok(Self {
            serves_gangs: serves("/apis/scheduling.k8s.io/v1beta1", "workloads")?,
            serves_policies: serves(
                "/apis/admissionregistration.k8s.io/v1",
                "mutatingadmissionpolicies",
            )?,
            helm: tools.helm.clone(),
            kubectl,
            loader,
            namespaces,
            kubeconfig: own,
        })
    }

    /// Returns a kubeconfig with no other context.
    pub(super) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Reports whether the cluster has what a test needs.
    pub(super) fn has(&self, need: Need) -> bool {
        match need {
            Need::AuditLog | Need::ApiServerProcess => false,
            Need::GangScheduling => self.serves_gangs,
            Need::ImagePolicy => self.serves_policies,
        }
    }

    /// Imports images, and makes pods use them instead of pulling.
    pub(super) fn load(&self, images: &[Image]) -> Result<()> {
        for image in images {
            self.loader.load(image)?;
        }
        if self.serves_policies {
            self.kubectl.apply(image_policy()?)?;
        }
        Ok(())
    }

    /// Removes what the tests have installed. Goes on after errors, and returns the first one.
    pub(super) fn clean_up(&self) -> Result<()> {
        interrupt::shielded(|| {
            say!("removing what the tests have installed");
            let crds = layout::repository().join("crds");
            let helm = Task::new(&self.helm)
                .args(["uninstall", "kueue", "--namespace=kueue-system", "--wait"])
                .arg("--ignore-not-found")
                .env("KUBECONFIG", self.kubectl.kubeconfig());
            let delete = |arguments: &[&str]| {
                self.kubectl
                    .task(["delete", "--ignore-not-found"])
                    .args(arguments)
            };
            let ours = ["--selector", "app.kubernetes.io/name=trainer"];
            let mut steps = vec![
                // Kueue's webhooks must answer while its jobs are removed.
                delete(&["namespaces", "--selector", "trainer.kubeflow.org/test"]),
                helm,
                delete(&["--filename", &crds.to_string_lossy()]),
                delete(&["clusterroles,clusterrolebindings", ours[0], ours[1]]),
                self.kubectl
                    .task(["label", "nodes", "--all", "example.com/pool-"]),
            ];
            if !self.namespaces.is_empty() {
                steps.push(delete(&[&["namespaces"], &self.namespaces[..]].concat()));
            }
            if self.serves_policies {
                steps.push(delete(&["--filename", "-"]).input(image_policy()?));
            }
            let mut result = Ok(());
            for step in steps {
                result = result.and(step.text().map(drop));
            }
            let _ = fs::remove_file(&self.kubeconfig);
            result.context("cleaning up")
        })
    }
}

/// Writes a kubeconfig of the current context alone. It holds credentials, so only its owner can read it.
fn write_current_context(kubeconfig: &Path, tools: &Tools, file: &Path) -> Result<()> {
    let text = Kubectl::new(&tools.kubectl, kubeconfig)
        .text(&["config", "view", "--minify", "--flatten", "--raw"])
        .with_context(|| format!("reading {}", kubeconfig.display()))?;
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    std::io::Write::write_all(&mut options.open(file)?, text.as_bytes())
        .with_context(|| format!("cannot write {}", file.display()))
}

fn refuse_unfit(kubectl: &Kubectl) -> Result<()> {
    let version = kubectl.text(&["version"]).context("cannot reach the cluster")?;
    for line in version.lines().filter(|line| line.starts_with("Server")) {
        say!("{line}");
    }
    if !kubectl.succeeds(&["get", "crd", "jobsets.jobset.x-k8s.io"])? {
        bail!("the cluster has no JobSet: install it first");
    }
    for (kind, product) in INSTALLED {
        if kubectl.succeeds(&["get", "crd", kind])? {
            bail!(
                "the cluster has the kind {kind}: the tests install {product} and remove it, so they need a cluster \
                 without it"
            );
        }
    }
    if !kubectl
        .text(&["get", "jobsets", "--all-namespaces", "-o", "name"])?
        .is_empty()
    {
        bail!("the cluster has JobSets: a test removes their kind for a moment, so they would be deleted");
    }
    Ok(())
}

fn hostname() -> Result<String> {
    let name = fs::read_to_string("/proc/sys/kernel/hostname")?;
    Ok(name.trim().to_owned())
}
