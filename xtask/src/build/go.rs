//! Go programs from pinned modules: Kubernetes, etcd, CoreDNS, JobSet, Helm, Kueue.
//!
//! Each module below `tests/cluster` pins one family of programs with its own `go.mod` and `go.sum`. They are separate
//! because a module has one version of every library: JobSet v0.12 is built on the Kubernetes 0.36 libraries, Helm on
//! 0.37.1, and neither would be the released program if it shared a graph with Kubernetes 1.37.2.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};

use crate::cache::{Cache, Key};
use crate::layout;
use crate::process::{Task, find_program};

/// A Go program that the cluster or a developer's task runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Program {
    /// The file name of the result.
    pub(crate) name: &'static str,
    /// The folder below `tests/cluster` that pins it.
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

pub(crate) const KUBE_APISERVER: Program =
    kubernetes("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver");
pub(crate) const KUBE_CONTROLLER_MANAGER: Program = kubernetes(
    "kube-controller-manager",
    "k8s.io/kubernetes/cmd/kube-controller-manager",
);
pub(crate) const KUBE_SCHEDULER: Program =
    kubernetes("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler");
pub(crate) const KUBE_PROXY: Program = kubernetes("kube-proxy", "k8s.io/kubernetes/cmd/kube-proxy");
pub(crate) const KUBELET: Program = kubernetes("kubelet", "k8s.io/kubernetes/cmd/kubelet");
pub(crate) const KUBECTL: Program = kubernetes("kubectl", "k8s.io/kubernetes/cmd/kubectl");
pub(crate) const ETCD: Program = Program {
    name: "etcd",
    family: "etcd",
    package: "go.etcd.io/etcd/server/v3",
};
pub(crate) const COREDNS: Program = Program {
    name: "coredns",
    family: "coredns",
    package: ".",
};
pub(crate) const JOBSET: Program = Program {
    name: "jobset-manager",
    family: "jobset",
    package: "sigs.k8s.io/jobset",
};
pub(crate) const PAUSE: Program = Program {
    name: "pause",
    family: "pause",
    package: ".",
};
pub(crate) const HELM: Program = Program {
    name: "helm",
    family: "helm",
    package: "helm.sh/helm/v4/cmd/helm",
};
pub(crate) const KUEUE: Program = Program {
    name: "kueue-manager",
    family: "kueue",
    package: "sigs.k8s.io/kueue/cmd/kueue",
};

/// What the Kubernetes release's own build puts into its programs beside the code.
const STAMPS: [&str; 4] = [
    "k8s.io/component-base/version.gitVersion=v{version}",
    "k8s.io/component-base/version.gitMajor={major}",
    "k8s.io/component-base/version.gitMinor={minor}",
    "k8s.io/component-base/version.gitTreeState=clean",
];

/// The `go` command, with settings that make a build depend on the pinned modules alone.
pub(crate) struct Toolchain {
    version: String,
}

impl Toolchain {
    pub(crate) fn find() -> Result<Self> {
        if find_program("go").is_none() {
            bail!("the cluster's programs are built from source: install Go 1.26 or newer");
        }
        // In a module's folder, since its `go` line may select another toolchain than the installed one.
        let folder = layout::cluster_inputs().join("jobset");
        let version = Task::new("go")
            .args(["env", "GOVERSION"])
            .current_dir(folder)
            .text()?;
        Ok(Self {
            version: version.trim().to_owned(),
        })
    }

    /// The path of the program, built when necessary.
    pub(crate) fn build(&self, cache: &Cache, program: Program) -> Result<PathBuf> {
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

/// The version of a module that a family pins, without its `v`.
pub(crate) fn pinned_version(family: &str, module: &str) -> Result<String> {
    let file = family_folder(family).join("go.mod");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    text.lines()
        .filter_map(|line| line.trim().trim_start_matches("require ").strip_prefix(module))
        .find_map(|rest| rest.split_whitespace().next()?.strip_prefix('v'))
        .map(str::to_owned)
        .ok_or_else(|| anyhow!("{} does not pin {module}", file.display()))
}

/// The folder of a pinned module's source, downloaded when necessary.
pub(crate) fn module_source(family: &str, module: &str) -> Result<PathBuf> {
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

pub(crate) fn family_folder(family: &str) -> PathBuf {
    layout::cluster_inputs().join(family)
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

/// A folder with the given programs under their names, for `PATH`.
pub(crate) fn link_into(folder: &Path, programs: &[(&str, &Path)]) -> Result<()> {
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
