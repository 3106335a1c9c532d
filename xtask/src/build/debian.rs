//! Debian's part: packages of this machine that the cluster runs on, and the root filesystem of the Python images.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::cache::{Cache, Key};
use crate::console::say;
use crate::image::layer::{self, Layer};
use crate::process::{Task, find_program};

/// Commands that must be there, and the Debian package that each comes from.
const NEEDED: [(&str, &str); 12] = [
    ("containerd", "containerd"),
    ("runc", "runc"),
    ("iptables", "iptables"),
    ("nft", "nftables"),
    ("conntrack", "conntrack"),
    ("debootstrap", "debootstrap"),
    ("ip", "iproute2"),
    ("nsenter", "util-linux"),
    ("setsid", "util-linux"),
    ("mount", "mount"),
    ("gcc", "gcc"),
    ("ldd", "libc-bin"),
];
/// Where Debian puts the CNI plugins.
pub(crate) const CNI_PLUGINS: &str = "/usr/lib/cni";

/// The Debian release of the images. Its Python is 3.11, which the Python requirements are pinned for.
const SUITE: &str = "bookworm";
const PACKAGES: [&str; 8] = [
    "python3",
    "ca-certificates",
    // What LightGBM and PaddlePaddle do not bring along.
    "libgomp1",
    "iproute2",
    "iputils-ping",
    "openssh-client",
    "openssh-server",
    "procps",
];
/// Nobody reads them in a test image, and they are a third of it.
const UNREAD: [&str; 6] = [
    "usr/share/doc",
    "usr/share/man",
    "usr/share/locale",
    "usr/share/info",
    "var/lib/apt/lists",
    "var/cache/apt",
];

/// Installs the packages that are missing on this machine, or says which ones to install.
pub(crate) fn ensure_packages() -> Result<()> {
    let mut missing: Vec<&str> = NEEDED
        .iter()
        .filter(|(command, _)| find_program(command).is_none())
        .map(|(_, package)| *package)
        .collect();
    if !Path::new(CNI_PLUGINS).join("bridge").is_file() {
        missing.push("containernetworking-plugins");
    }
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    if find_program("apt-get").is_none() {
        bail!(
            "these Debian packages are missing, and there is no apt-get: {}",
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

/// The root filesystem with Python and an SSH server, as an image layer.
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

/// Unpacks a root filesystem's layer, to run its programs while another layer is made for it.
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
