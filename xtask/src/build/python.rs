//! Python libraries as an image layer on top of the Python root filesystem.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::{debian, standins};
use crate::cache::{Cache, Key};
use crate::image::layer::{self, Layer};
use crate::layout;
use crate::process::Task;

/// Where Debian's Python looks for libraries that are not Debian's.
const LIBRARIES: &str = "usr/local/lib/python3.11/dist-packages";
/// The wheels to choose from: those for the images' Python, whatever this machine's own is.
const TARGET: [&str; 14] = [
    "--only-binary=:all:",
    "--implementation=cp",
    "--python-version=3.11",
    "--platform=manylinux_2_28_x86_64",
    "--platform=manylinux_2_27_x86_64",
    "--platform=manylinux_2_24_x86_64",
    "--platform=manylinux_2_17_x86_64",
    "--platform=manylinux2014_x86_64",
    "--platform=manylinux_2_12_x86_64",
    "--platform=manylinux2010_x86_64",
    "--no-deps",
    "--no-compile",
    "--no-warn-script-location",
    "--require-hashes",
];
/// Runs inside the new image before it is sealed: what it cannot do here it cannot do in a pod.
const SMOKE_TEST: &str = "\
import torch, torch.distributed, torch.distributed.run, torch.nn.parallel, sklearn.datasets
assert not torch.cuda.is_available()
layer = torch.nn.Linear(3, 1)
layer(torch.ones(2, 3)).sum().backward()
assert layer.weight.grad.tolist() == [[2.0, 2.0, 2.0]]
assert torch.distributed.is_gloo_available()
assert len(sklearn.datasets.load_digits().target) == 1797
print('torch', torch.__version__)";

/// PyTorch for the CPU with the digits data set, and `torchrun`.
///
/// The Linux wheel is the CUDA build, whose libraries name a dozen NVIDIA libraries (2.3 GB of downloads). Only
/// one of them runs code when PyTorch is imported; the others get stand-ins ([`standins`]).
pub(crate) fn torch(cache: &Cache, rootfs: &Layer) -> Result<Layer> {
    let requirements = layout::cluster_inputs().join("images/torch/requirements.txt");
    let key = Key::new("torch 1")
        .with("rootfs", rootfs.digest())
        .with("target", TARGET.join(" "))
        .with("stand-ins", standins::RECIPE)
        .with("smoke test", SMOKE_TEST)
        .with_file(&requirements)?;
    let folder = cache.artefact("layers/torch", key, |draft| {
        let root = draft.join("root");
        let libraries = root.join(LIBRARIES);
        fs::create_dir_all(&libraries)?;
        install(&requirements, &libraries, &draft.join("pip.log"))?;
        standins::add(&libraries)?;
        finish_in_rootfs(draft, rootfs, &libraries)?;
        // `--target` put the scripts beside the libraries, with this machine's Python in their first line.
        crate::cache::remove(&libraries.join("bin"))?;
        let bin = root.join("usr/local/bin");
        fs::create_dir_all(&bin)?;
        script(
            &bin.join("torchrun"),
            "#!/bin/sh\nexec /usr/bin/python3 -m torch.distributed.run \"$@\"\n",
        )?;
        fs::create_dir_all(root.join("workspace"))?;
        layer::seal(draft, &root)
    })?;
    Layer::open(folder)
}

fn install(requirements: &Path, libraries: &Path, log: &Path) -> Result<()> {
    let pip = Task::new("python3").args(["-m", "pip", "--version"]).finish();
    if !pip.is_ok_and(|pip| pip.status.success()) {
        bail!("python3 with pip is needed for the PyTorch image: install python3-pip");
    }
    Task::new("python3")
        .args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--root-user-action=ignore",
        ])
        .args(TARGET)
        .arg("--target")
        .arg(libraries)
        .arg("--requirement")
        .arg(requirements)
        .logged(log)
}

/// Compiles the libraries with the interpreter that will run them, and tries them out. A library without compiled files
/// in a read-only image would be compiled anew by each process, which takes half a minute.
fn finish_in_rootfs(draft: &Path, rootfs: &Layer, libraries: &Path) -> Result<()> {
    let machine = debian::unpack(rootfs, &draft.join("rootfs"))?;
    let mounted = machine.join(LIBRARIES);
    fs::create_dir_all(&mounted)?;
    // The mount is private to this shell and goes with it. Hash-based files stay valid whatever the file times are.
    let script = format!(
        "set -e
         mount --bind \"$1\" \"$2\"
         chroot \"$3\" python3 -m compileall -q -j 2 --invalidation-mode unchecked-hash /{LIBRARIES} || true
         chroot \"$3\" python3 -c \"$4\""
    );
    Task::new("unshare")
        .args([
            "--mount",
            "--propagation",
            "private",
            "--",
            "sh",
            "-c",
            &script,
            "sh",
        ])
        .args([libraries, &mounted, &machine])
        .arg(SMOKE_TEST)
        .logged(&draft.join("smoke-test.log"))
        .context("the new PyTorch image does not work")?;
    crate::cache::remove(&machine)
}

fn script(path: &Path, text: &str) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::write(path, text)?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}
