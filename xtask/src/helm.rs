//! The chart of this repository, installed with the real Helm.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::kubectl::Kubectl;
use crate::layout;
use crate::process::Task;

/// The release's name, which the chart turns into the names of its objects.
pub(crate) const RELEASE: &str = "kubeflow-trainer";
pub(crate) const NAMESPACE: &str = "kubeflow-system";
/// The controller's Deployment, by the name that clients look for.
pub(crate) const DEPLOYMENT: &str = "deployment/kubeflow-trainer-controller-manager";

/// Helm for one cluster.
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

    /// Installs the chart, or upgrades it, with the shipped runtimes and this controller image; returns when the controller
    /// is ready and the runtimes are there.
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
            // Booleans stay booleans; a tag that looks like a number stays text.
            let flag = if value == "true" { "--set" } else { "--set-string" };
            task = task.arg(flag).arg(format!("{name}={value}"));
        }
        task.text()?;
        Ok(())
    }

    /// Whether there is a release already.
    pub(crate) fn installed(&self) -> Result<bool> {
        let status = self
            .task(["status", RELEASE, "--namespace", NAMESPACE])
            .finish()?;
        Ok(status.status.success())
    }

    /// Removes the release with what its hooks have installed.
    pub(crate) fn uninstall(&self) -> Result<()> {
        self.uninstall_with(&["--timeout", "2m"])
    }

    /// Removes a release whose controller image may not work. The hook that removes the runtimes runs that image, so this
    /// does without.
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

/// An image reference in the three parts that the chart wants.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) registry: String,
    pub(crate) repository: String,
    pub(crate) tag: String,
}

impl Reference {
    /// Splits `REGISTRY/REPOSITORY:TAG` or `REGISTRY/REPOSITORY@DIGEST`. What has no registry is Docker Hub's, and what has
    /// no tag is `latest`, as everywhere.
    pub(crate) fn parse(text: &str) -> Self {
        let (name, tag) = match text.split_once('@') {
            Some((name, digest)) => (name, digest),
            // A colon before the last slash belongs to the registry's port.
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
