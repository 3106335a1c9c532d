//! Debian: packages that the cluster needs on this machine, and the root file system of the Python images.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::cache::{Cache, Key};
use crate::image::layer::{self, Layer};
use crate::process::{Task, find_program};
use crate::say;

/// A command, and the Debian package that it comes from.
type Needed = (&'static str, &'static str);

/// What building images needs.
pub(crate) const FOR_IMAGES: [Needed; 5] = [
    ("debootstrap", "debootstrap"),
    ("unshare", "util-linux"),
    ("mount", "mount"),
    ("gcc", "gcc"),
    ("ldd", "libc-bin"),
];
/// What running a cluster needs.
pub(crate) const FOR_CLUSTER: [Needed; 9] = [
    ("containerd", "containerd"),
    ("runc", "runc"),
    (BRIDGE, "containernetworking-plugins"),
    ("iptables", "iptables"),
    ("nft", "nftables"),
    ("conntrack", "conntrack"),
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("setsid", "util-linux"),
];
/// Where Debian installs the CNI plugins.
pub(crate) const CNI_PLUGINS: &str = "/usr/lib/cni";
/// One of the plugins, which is not on `PATH`.
const BRIDGE: &str = "/usr/lib/cni/bridge";

/// The Debian release of the images. The Python requirements are pinned for its Python, 3.11.
const SUITE: &str = "bookworm";
const PACKAGES: [&str; 8] = [
    "python3",
    "ca-certificates",
    // LightGBM and PaddlePaddle need it, and their wheels lack it.
    "libgomp1",
    "iproute2",
    "iputils-ping",
    "openssh-client",
    "openssh-server",
    "procps",
];
/// Folders that no test image needs: a third of its size.
const UNREAD: [&str; 6] = [
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "var/lib/apt/lists",
    "var/cache/apt",
];

/// Installs the packages that are missing on this machine. Without apt-get, fails with their names.
pub(crate) fn ensure_packages(needed: &[Needed]) -> Result<()> {
    let mut missing: Vec<&str> = needed
        .iter()
        .filter(|(command, _)| find_program(command).is_none())
        .map(|(_, package)| *package)
        .collect();
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    if find_program("apt-get").is_none() {
        bail!(
            "these Debian packages are missing and there is no apt-get: {}",
            missing.join(" ")
        );
    }
    say!("installing {}", missing.join(" "));
    let log = std::env::temp_dir().join(format!("xtask-apt-{}.log", std::process::id()));
    Task::new("apt-get").args(["update", "-qq"]).logged(&log)?;
    Task::new("apt-get")
        .args(["install", "-y", "-qq", "--no-install-recommends"])
        .args(&missing)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .logged(&log)?;
    let _ = fs::remove_file(log);
    Ok(())
}

/// Returns the root file system with Python and an SSH server, as an image layer.
pub(crate) fn python_rootfs(cache: &Cache) -> Result<Layer> {
    let key = Key::new("python rootfs 1")
        .with("suite", SUITE)
        .with("packages", PACKAGES.join(" "));
    let folder = cache.artefact("layers/python-rootfs", key, |draft| {
        let root = draft.join("root");
        Task::new("debootstrap")
            .args([
                "--variant=minbase",
                &format!("--include={}", PACKAGES.join(",")),
                SUITE,
            ])
            .arg(&root)
            .logged(&draft.join("debootstrap.log"))?;
        for unread in UNREAD {
            crate::cache::remove(&root.join(unread))?;
        }
        std::os::unix::fs::symlink("/usr/bin/python3", root.join("usr/local/bin/python"))?;
        layer::seal(draft, &root)
    })?;
    Layer::open(folder)
}

/// Unpacks a layer, to run its programs while a layer on top of it is built.
pub(crate) fn unpack(layer: &Layer, into: &Path) -> Result<PathBuf> {
    fs::create_dir_all(into)?;
    Task::new("tar")
        .arg("-C")
        .arg(into)
        .args(["--numeric-owner", "-xpf"])
        .arg(layer.archive())
        .text()?;
    Ok(into.to_owned())
}
