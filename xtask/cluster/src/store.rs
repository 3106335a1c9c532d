//! containerd's folder, with the images already in it.
//!
//! containerd imports about 100 MB a second. So each set of images is imported once, by a containerd that runs for nothing
//! else, and the folder is cached. A new cluster gets its own folder, whose unpacked layers are links into the cached one.
//! Layers are never written to (they are the lower folders of an overlay mount), so any number of clusters can share them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};

use crate::build::debian::CNI_PLUGINS;
use crate::cache::{self, Cache};
use crate::image::{self, Image, catalog};
use crate::namespaces::{Component, Namespaces, Setup};
use crate::process::{Task, poll};
use crate::state::text;

/// containerd's folder in a cluster.
pub(crate) const CONTAINERD: &str = "/var/lib/containerd";
/// Where containerd stores what it has imported, by digest.
const BLOBS: &str = "io.containerd.content.v1.content/blobs/sha256";
/// What clusters share: unpacked layers, and the archives that they came from.
const SHARED: [&str; 2] = ["io.containerd.snapshotter.v1.overlayfs/snapshots", BLOBS];
/// containerd's namespace for the kubelet's images.
const KUBERNETES: [&str; 2] = ["--namespace", "k8s.io"];

/// Returns the cached folder for these images, and fills it if necessary.
pub(crate) fn prepare(cache: &Cache, images: &[Image]) -> Result<PathBuf> {
    let version = Task::new("containerd").arg("--version").text()?;
    let key = image::key_of("image store 2", images).with("containerd", version.trim());
    let folder = cache.artefact("image-stores/containerd", key, |draft| fill(draft, images))?;
    Ok(folder.join("root"))
}

/// Imports the images with a containerd that ends afterwards.
fn fill(draft: &Path, images: &[Image]) -> Result<()> {
    let setup = Setup {
        scratch: draft.join("scratch"),
        binds: vec![(draft.join("root"), PathBuf::from(CONTAINERD))],
    };
    let namespaces = Namespaces::create(&setup, &draft.join("init.log"))?;
    let filled = (|| {
        let config = draft.join("containerd.toml");
        fs::write(&config, containerd_config(&draft.join("cni")))?;
        let mut containerd = start_containerd(&namespaces, &config, &draft.join("containerd.log"))?;
        wait_for_containerd(&namespaces, &mut containerd)?;
        for (index, image) in images.iter().enumerate() {
            import(
                &namespaces,
                image,
                &draft.join(format!("layout-{index}")),
                &draft.join("import.log"),
            )?;
            share_archives(&draft.join("root"), image)?;
        }
        // After an orderly end its database is complete on the disk.
        containerd.stop()
    })();
    namespaces.end()?;
    filled?;
    cache::remove(&draft.join("scratch"))
}

/// Replaces containerd's copies of an image's layers by links to the cached layers, which are the same bytes. This
/// happens after each image, since the disk may be too small for all copies at once.
fn share_archives(root: &Path, image: &Image) -> Result<()> {
    for layer in &image.layers {
        let copy = root.join(BLOBS).join(layer.digest());
        fs::remove_file(&copy).with_context(|| format!("containerd has no {}", copy.display()))?;
        fs::hard_link(layer.archive(), &copy)?;
    }
    Ok(())
}

/// Fills a cluster's containerd folder from the cached one.
pub(crate) fn seed(store: &Path, folder: &Path) -> Result<()> {
    link_or_copy(store, folder, Path::new(""))
}

/// Links what is shared and copies the rest of `below`, a path in both folders.
fn link_or_copy(store: &Path, folder: &Path, below: &Path) -> Result<()> {
    fs::create_dir_all(folder.join(below))?;
    for entry in
        fs::read_dir(store.join(below)).with_context(|| format!("cannot list {}", store.display()))?
    {
        let entry = entry?;
        let path = below.join(entry.file_name());
        if SHARED.iter().any(|shared| below == Path::new(shared)) {
            symlink(entry.path(), folder.join(&path))?;
        } else if entry.file_type()?.is_dir() {
            link_or_copy(store, folder, &path)?;
        } else {
            fs::copy(entry.path(), folder.join(&path))?;
        }
    }
    Ok(())
}

/// Imports an image into a running containerd.
pub(crate) fn import(namespaces: &Namespaces, image: &Image, layout: &Path, log: &Path) -> Result<()> {
    cache::remove(layout)?;
    image.write_layout(layout)?;
    // `-h`: the layers are links into the cache.
    let archive = Task::new("tar").arg("-C").arg(layout).args(["-chf", "-", "."]);
    let import = namespaces
        .task("ctr")
        .args(KUBERNETES)
        .args(["images", "import", "-"]);
    archive
        .piped_into(import, log)
        .with_context(|| format!("importing {}", image.reference))?;
    cache::remove(layout)
}

/// Starts containerd in the namespaces.
pub(crate) fn start_containerd(namespaces: &Namespaces, config: &Path, log: &Path) -> Result<Component> {
    let program = crate::process::find_program("containerd").unwrap_or_else(|| PathBuf::from("containerd"));
    let child = namespaces
        .lasting(&program)
        .arg("--config")
        .arg(config)
        .detached(log)?;
    Ok(Component::new("containerd", child, log.to_owned()))
}

/// Waits until containerd answers.
pub(crate) fn wait_for_containerd(namespaces: &Namespaces, containerd: &mut Component) -> Result<()> {
    poll(Duration::from_secs(30), "containerd", || {
        containerd.check()?;
        Ok(namespaces.task("ctr").arg("version").finish()?.status.success())
    })
}

/// Returns containerd's settings, with the folder of the CNI settings.
pub(crate) fn containerd_config(cni: &Path) -> String {
    format!(
        r#"version = 2
root = "{CONTAINERD}"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs", "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs", "io.containerd.internal.v1.tracing", "io.containerd.tracing.processor.v1.otlp",
]
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "/run/containerd/opt"  # the default would be made on the machine
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{sandbox}"
  disable_apparmor = true
  # Without CAP_SYS_RESOURCE, as in many virtual machines, no process may lower its score: every pod would fail.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{CNI_PLUGINS}"
    conf_dir = "{cni}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"#,
        sandbox = catalog::PAUSE,
        cni = text(cni),
    )
}
