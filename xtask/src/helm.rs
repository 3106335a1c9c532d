//! Installs and removes the chart of this repository with Helm.

use std::path::{Path, PathBuf};

use anyhow::Result;
use local_cluster::kubectl::Kubectl;
use local_cluster::process::Task;

use crate::layout;

/// The release's name. The names of the chart's objects begin with it.
pub(crate) const RELEASE: &str = "kubeflow-trainer";
pub(crate) const NAMESPACE: &str = "kubeflow-system";
/// The controller's Deployment. Clients look for this name.
pub(crate) const DEPLOYMENT: &str = "deployment/kubeflow-trainer-controller-manager";

/// Helm on one cluster.
pub(crate) struct Helm {
    program: PathBuf,
    kubectl: Kubectl,
}

impl Helm {
    pub(crate) fn new(program: &Path, kubectl: &Kubectl) -> Self {
        Self {
            program: program.to_owned(),
            kubectl: kubectl.clone(),
        }
    }

    /// Installs or upgrades the chart with the shipped runtimes and this controller image. Returns when the controller is
    /// ready and the runtimes are installed.
    pub(crate) fn install(&self, image: &Reference) -> Result<()> {
        let values = [
            ("image.registry", image.registry.as_str()),
            ("image.repository", &image.repository),
            ("image.tag", &image.tag),
            ("runtimes.defaultEnabled", "true"),
        ];
        let mut task = self
            .task(["upgrade", "--install", RELEASE])
            .arg(layout::repository().join("charts/kubeflow-trainer"));
        task = task.args([
            "--namespace",
            NAMESPACE,
            "--create-namespace",
            "--wait",
            "--timeout",
            "3m",
        ]);
        for (name, value) in values {
            // `--set` would turn a tag that looks like a number into a number.
            let flag = if value == "true" { "--set" } else { "--set-string" };
            task = task.arg(flag).arg(format!("{name}={value}"));
        }
        task.text()?;
        Ok(())
    }

    /// Reports whether the release is installed.
    pub(crate) fn installed(&self) -> Result<bool> {
        let status = self
            .task(["status", RELEASE, "--namespace", NAMESPACE])
            .finish()?;
        Ok(status.status.success())
    }

    /// Removes the release, and what its hooks have installed.
    pub(crate) fn uninstall(&self) -> Result<()> {
        self.uninstall_with(&["--timeout", "2m"])
    }

    /// Removes a release whose controller image may not work. Does not run the hook that removes the runtimes, since that
    /// uses the image.
    pub(crate) fn uninstall_broken(&self) -> Result<()> {
        self.uninstall_with(&["--no-hooks"])?;
        let ours = "--selector=trainer.kubeflow.org/managed-by=runtimes-installer";
        self.kubectl.text(&["delete", "clustertrainingruntimes", ours])?;
        Ok(())
    }

    fn uninstall_with(&self, more: &[&str]) -> Result<()> {
        let task = self.task(["uninstall", RELEASE, "--namespace", NAMESPACE, "--wait"]);
        task.args(more).text()?;
        Ok(())
    }

    fn task<const N: usize>(&self, arguments: [&str; N]) -> Task {
        Task::new(&self.program)
            .args(arguments)
            .env("KUBECONFIG", self.kubectl.kubeconfig())
    }
}

/// An image reference in the three parts that are values of the chart.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) registry: String,
    pub(crate) repository: String,
    pub(crate) tag: String,
}

impl Reference {
    /// Splits `REGISTRY/REPOSITORY:TAG` or `REGISTRY/REPOSITORY@DIGEST`. The default registry is Docker Hub, the default tag
    /// `latest`.
    pub(crate) fn parse(text: &str) -> Self {
        let (name, tag) = match text.split_once('@') {
            Some((name, digest)) => (name, digest),
            // A colon before the last slash is that of a port.
            None => match text.rsplit_once(':').filter(|(_, tag)| !tag.contains('/')) {
                Some((name, tag)) => (name, tag),
                None => (text, "latest"),
            },
        };
        let (registry, repository) = match name.split_once('/') {
            Some((first, rest)) if first.contains(['.', ':']) || first == "localhost" => {
                (first, rest.to_owned())
            }
            Some(_) => ("docker.io", name.to_owned()),
            None => ("docker.io", format!("library/{name}")),
        };
        Self {
            registry: registry.to_owned(),
            repository,
            tag: tag.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Reference;

    fn splits(text: &str, registry: &str, repository: &str, tag: &str) {
        let expected = Reference {
            registry: registry.to_owned(),
            repository: repository.to_owned(),
            tag: tag.to_owned(),
        };
        assert_eq!(Reference::parse(text), expected, "{text}");
    }

    #[test]
    fn a_reference_splits_into_registry_repository_and_tag() {
        splits(
            "ghcr.io/kubeflow/trainer/manager:dev-1",
            "ghcr.io",
            "kubeflow/trainer/manager",
            "dev-1",
        );
        splits("localhost:5000/manager:1", "localhost:5000", "manager", "1");
        splits("localhost:5000/manager", "localhost:5000", "manager", "latest");
        splits("me/manager", "docker.io", "me/manager", "latest");
        splits("manager", "docker.io", "library/manager", "latest");
        splits("ghcr.io/manager@sha256:ab", "ghcr.io", "manager", "sha256:ab");
    }
}
