//! Go programs from pinned modules: Kubernetes, etcd, CoreDNS, JobSet, Helm, Kueue.
//!
//! Each Go module in `programs/` pins one family of programs. They are separate because a module has one version of every
//! library: JobSet v0.12 is built on the Kubernetes 0.36 libraries and Helm on 0.37.1. In one module they would not be the
//! released programs.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use crate::cache::{Cache, Key};
use crate::layout;
use crate::process::{Task, find_program};

/// A Go program of the cluster, or one that its users run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Program {
    /// The file name of the program.
    pub name: &'static str,
    /// The folder in `programs/` that pins it.
    family: &'static str,
    package: &'static str,
}

const fn kubernetes(name: &'static str, package: &'static str) -> Program {
    Program {
        name,
        family: "kubernetes",
        package,
    }
}

/// The API server.
pub(crate) const KUBE_APISERVER: Program =
    kubernetes("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver");
/// Kubernetes' controllers.
pub(crate) const KUBE_CONTROLLER_MANAGER: Program = kubernetes(
    "kube-controller-manager",
    "k8s.io/kubernetes/cmd/kube-controller-manager",
);
/// The scheduler.
pub(crate) const KUBE_SCHEDULER: Program =
    kubernetes("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler");
/// Services, on the node.
pub(crate) const KUBE_PROXY: Program = kubernetes("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy");
/// The node's agent.
pub(crate) const KUBELET: Program = kubernetes("kubelet", "k8s.io/kubernetes/cmd/kubelet");
/// The client of Kubernetes.
pub const KUBECTL: Program = kubernetes("kubectl", "k8s.io/kubernetes/cmd/kubectl");
/// The API server's storage.
pub(crate) const ETCD: Program = Program {
    name: "etcd",
    family: "etcd",
    package: "go.etcd.io/etcd/server/v3",
};
/// The cluster's DNS, with the plugins that it needs.
pub(crate) const COREDNS: Program = Program {
    name: "coredns",
    family: "coredns",
    package: ".",
};
/// JobSet's manager.
pub(crate) const JOBSET: Program = Program {
    name: "jobset-manager",
    family: "jobset",
    package: "sigs.k8s.io/jobset",
};
/// The process of a pod sandbox.
pub(crate) const PAUSE: Program = Program {
    name: "pause",
    family: "pause",
    package: ".",
};
/// Helm, to install charts.
pub const HELM: Program = Program {
    name: "helm",
    family: "helm",
    package: "helm.sh/helm/v4/cmd/helm",
};
/// Kueue's manager.
pub const KUEUE: Program = Program {
    name: "kueue-manager",
    family: "kueue",
    package: "sigs.k8s.io/kueue/cmd/kueue",
};

/// Values that the build of a Kubernetes release links into its programs.
const STAMPS: [&str; 4] = [
    "k8s.io/component-base/version.gitVersion=v{version}",
    "k8s.io/component-base/version.gitMajor={major}",
    "k8s.io/component-base/version.gitMinor={minor}",
    "k8s.io/component-base/version.gitTreeState=clean",
];

/// The `go` command. Its builds depend on the pinned modules and its version alone.
pub struct Toolchain {
    version: String,
}

impl Toolchain {
    /// Finds the installed `go`.
    pub fn find() -> Result<Self> {
        if find_program("go").is_none() {
            bail!("go is not on PATH: install Go 1.26 or newer, to build the cluster's programs from source");
        }
        // A module's `go` line may select another toolchain than the installed one, so this runs in a module.
        let folder = family_folder("jobset");
        let version = Task::new("go")
            .args(["env", "GOVERSION"])
            .current_dir(folder)
            .text()?;
        Ok(Self {
            version: version.trim().to_owned(),
        })
    }

    /// Returns the program's path, and builds it if necessary.
    pub fn build(&self, cache: &Cache, program: Program) -> Result<PathBuf> {
        let folder = cache.artefact(&artefact_name(program), self.key(program)?, |draft| {
            Task::new("go")
                .args([
                    "build",
                    "-mod=readonly",
                    "-buildvcs=false",
                    "-trimpath",
                    "-ldflags",
                ])
                .arg(link_flags(program)?)
                .arg("-o")
                .arg(draft.join(program.name))
                .arg(program.package)
                .env("GOFLAGS", "")
                .env("GOWORK", "off")
                .env("CGO_ENABLED", "0")
                .current_dir(family_folder(program.family))
                .logged(&draft.join("build.log"))
        })?;
        Ok(folder.join(program.name))
    }

    fn key(&self, program: Program) -> Result<Key> {
        let folder = family_folder(program.family);
        let mut inputs: Vec<PathBuf> = fs::read_dir(&folder)
            .with_context(|| format!("cannot list {}", folder.display()))?
            .map(|entry| Ok(entry?.path()))
            .collect::<Result<_>>()?;
        inputs.retain(|path| {
            path.extension()
                .is_some_and(|extension| ["mod", "sum", "go"].iter().any(|known| extension == *known))
        });
        inputs.sort();
        let key = Key::new("go build 1")
            .with("go", &self.version)
            .with("package", program.package)
            .with("flags", link_flags(program)?);
        inputs.iter().try_fold(key, |key, file| key.with_file(file))
    }
}

/// Returns the version of a module that a family pins, without the `v`.
pub fn pinned_version(family: &str, module: &str) -> Result<String> {
    let file = family_folder(family).join("go.mod");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    text.lines()
        .filter_map(|line| line.trim().trim_start_matches("require ").strip_prefix(module))
        .find_map(|rest| rest.split_whitespace().next()?.strip_prefix('v'))
        .map(str::to_owned)
        .ok_or_else(|| anyhow!("{} does not pin {module}", file.display()))
}

/// Returns the folder of a pinned module's source, and downloads it if necessary.
pub fn module_source(family: &str, module: &str) -> Result<PathBuf> {
    let folder = family_folder(family);
    let go = || {
        Task::new("go")
            .env("GOFLAGS", "")
            .env("GOWORK", "off")
            .current_dir(&folder)
    };
    go().args(["mod", "download", module]).text()?;
    let listed = go()
        .args(["list", "-mod=readonly", "-m", "-f", "{{.Dir}}", module])
        .text()?;
    Ok(PathBuf::from(listed.trim()))
}

/// Returns the folder of the Go module that pins a family of programs.
pub(crate) fn family_folder(family: &str) -> PathBuf {
    layout::input("programs").join(family)
}

fn artefact_name(program: Program) -> String {
    format!("programs/{}", program.name)
}

fn link_flags(program: Program) -> Result<String> {
    let mut flags = "-s -w".to_owned();
    match program.family {
        "kubernetes" => {
            let version = pinned_version("kubernetes", "k8s.io/kubernetes ")?;
            let mut numbers = version.split('.');
            let (major, minor) = (
                numbers.next().unwrap_or_default(),
                numbers.next().unwrap_or_default(),
            );
            for stamp in STAMPS {
                let stamp = stamp
                    .replace("{version}", &version)
                    .replace("{major}", major)
                    .replace("{minor}", minor);
                flags.push_str(" -X ");
                flags.push_str(&stamp);
            }
        }
        "helm" => {
            let version = pinned_version("helm", "helm.sh/helm/v4 ")?;
            flags.push_str(" -X helm.sh/helm/v4/internal/version.version=v");
            flags.push_str(&version);
        }
        _ => {}
    }
    Ok(flags)
}

/// Links programs by name into a folder, for `PATH`.
pub fn link_into(folder: &Path, programs: &[(&str, &Path)]) -> Result<()> {
    fs::create_dir_all(folder)?;
    for (name, path) in programs {
        let link = folder.join(name);
        if link.symlink_metadata().is_ok() {
            fs::remove_file(&link)?;
        }
        std::os::unix::fs::symlink(path, &link)?;
    }
    Ok(())
}
