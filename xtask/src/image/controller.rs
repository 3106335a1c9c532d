//! The controller's image: the `trainer` program, the C library that it is linked to, and a user without privileges.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use local_cluster::cache::{Cache, Key};
use local_cluster::image::Image;
use local_cluster::image::layer::{self, Layer};
use local_cluster::process::Task;
use local_cluster::say;
use serde_json::json;

use crate::cargo::cargo;
use crate::layout;

/// The repository of the released image. A development build has another tag in it.
pub(crate) const REGISTRY: &str = "ghcr.io";
pub(crate) const REPOSITORY: &str = "kubeflow/trainer/trainer-controller-manager";

/// Builds the program as it is released and returns its path.
pub(crate) fn build_release() -> Result<PathBuf> {
    say!("building the controller ...");
    let build = [
        "build",
        "--quiet",
        "--release",
        "--package",
        "trainer",
        "--bin",
        "trainer",
    ];
    cargo(build).shown()?;
    Ok(layout::target().join("release/trainer"))
}

/// Builds the program as the tests do, and returns its path. `cargo build` would select other features for libraries that
/// only tests depend on, and compile most libraries again.
pub(crate) fn build_for_tests() -> Result<PathBuf> {
    cargo(["test", "--workspace", "--test", "cluster", "--no-run"]).shown()?;
    Ok(layout::target().join("debug/trainer"))
}

/// Packs the program into an image whose tag is a hash of its content.
pub(crate) fn image(program: &Path) -> Result<Image> {
    let cache = Cache::of_this_build()?;
    let libraries = shared_libraries(program)?;
    let mut key = Key::new("controller base 1");
    for library in &libraries {
        key = key
            .with("path", library.to_string_lossy().as_bytes())
            .with_file(library)?;
    }
    let base = cache.artefact("layers/controller-base", key, |draft| {
        let root = draft.join("root");
        for folder in ["etc", "tmp"] {
            fs::create_dir_all(root.join(folder))?;
        }
        fs::set_permissions(root.join("tmp"), fs::Permissions::from_mode(0o1777))?;
        fs::write(
            root.join("etc/passwd"),
            "root:x:0:0::/:/none\nnonroot:x:65532:65532::/:/none\n",
        )?;
        fs::write(root.join("etc/group"), "root:x:0:\nnonroot:x:65532:\n")?;
        fs::write(root.join("etc/nsswitch.conf"), "hosts: files dns\n")?;
        for library in &libraries {
            copy_into(&root, library)?;
        }
        layer::seal(draft, &root)
    })?;
    let key = Key::new("controller program 1").with_file(program)?;
    let top = cache.artefact("layers/controller-program", key, |draft| {
        let root = draft.join("root");
        fs::create_dir_all(&root)?;
        let copy = root.join("trainer");
        fs::copy(program, &copy)?;
        fs::set_permissions(&copy, fs::Permissions::from_mode(0o755))?;
        // A development build is mostly debug information, which a pod does not need.
        Task::new("strip").arg(&copy).text()?;
        layer::seal(draft, &root)
    })?;
    let (base, top) = (Layer::open(base)?, Layer::open(top)?);
    let tag = format!("dev-{}", &top.digest()[..12]);
    Ok(Image {
        reference: format!("{REGISTRY}/{REPOSITORY}:{tag}"),
        layers: vec![base, top],
        config: json!({"Entrypoint": ["/trainer"], "User": "65532:65532", "Env": ["PATH=/"], "WorkingDir": "/"}),
    })
}

/// Lists the libraries that the dynamic linker would load for the program, and the linker itself.
fn shared_libraries(program: &Path) -> Result<BTreeSet<PathBuf>> {
    let listed = Task::new("ldd").arg(program).finish()?;
    let text = listed.text();
    if !listed.status.success() {
        // A static program needs none; ldd reports that as a failure.
        if format!("{text}{}", listed.complaint()).contains("not a dynamic executable") {
            return Ok(BTreeSet::new());
        }
        bail!("ldd {}: {}", program.display(), listed.complaint());
    }
    let mut libraries = BTreeSet::new();
    for line in text.lines() {
        // `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...)`, or the linker: `/lib64/ld-linux-x86-64.so.2 (0x...)`.
        if line.contains("not found") {
            bail!(
                "{} needs a library that is not installed: {}",
                program.display(),
                line.trim()
            );
        }
        let path = line.split_whitespace().find(|word| word.starts_with('/'));
        libraries.extend(path.map(PathBuf::from));
    }
    Ok(libraries)
}

/// Copies a file to the same path below `root`. Links are followed, so the program opens a plain file.
fn copy_into(root: &Path, file: &Path) -> Result<()> {
    let target = root.join(file.strip_prefix("/").unwrap_or(file));
    if let Some(folder) = target.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::copy(file, &target).with_context(|| format!("cannot copy {}", file.display()))?;
    Ok(())
}
