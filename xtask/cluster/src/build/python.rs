//! Layers of the Python images: wheels, files and a set-up script on top of other layers, with a test of the result.
//!
//! A folder in `images/` describes a layer. Each of these may be absent:
//!
//! | file | what |
//! |---|---|
//! | `requirements.txt` | wheels, with hashes |
//! | `sources.txt` | libraries that are published as source only, with hashes; pure Python |
//! | `files/` | files as they lie below `/` |
//! | `setup.sh` | runs in the image after all of this |
//! | `smoke-test.py` | runs in the image at the end, and must succeed |

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use super::{debian, standins};
use crate::cache::{self, Cache, Key};
use crate::image::layer::{self, Layer};
use crate::layout;
use crate::process::Task;

/// Where Debian's Python finds libraries that are not Debian's.
const LIBRARIES: &str = "usr/local/lib/python3.11/dist-packages";
/// pip's options that select wheels for the images' Python and C library instead of this machine's.
const TARGET: [&str; 17] = [
    "--only-binary=:all:",
    "--implementation=cp",
    "--python-version=3.11",
    "--platform=manylinux_2_36_x86_64",
    "--platform=manylinux_2_35_x86_64",
    "--platform=manylinux_2_34_x86_64",
    "--platform=manylinux_2_31_x86_64",
    "--platform=manylinux_2_28_x86_64",
    "--platform=manylinux_2_27_x86_64",
    "--platform=manylinux_2_24_x86_64",
    "--platform=manylinux_2_17_x86_64",
    "--platform=manylinux2014_x86_64",
    "--platform=manylinux_2_12_x86_64",
    "--platform=manylinux2010_x86_64",
    "--platform=manylinux_2_5_x86_64",
    "--platform=manylinux1_x86_64",
    "--no-deps",
];
/// Unpacks wheels into a root folder.
const UNPACK: &str = include_str!("wheels.py");
/// Runs the two scripts in the complete image. The mounts are private to this shell and end with it. What is written to
/// `/tmp` is not part of the image. Without compiled files each process would compile the libraries again, since the image
/// is read-only; PyTorch needs half a minute for that. Hash-based files stay valid whatever the file times are.
const FINISH: &str = "\
set -e
image=$1; below=$2; root=$3; work=$4; setup=$5; smoke_test=$6; shift 6
mount -t overlay overlay -o \"lowerdir=$below,upperdir=$root,workdir=$work\" \"$image\"
mount -t proc proc \"$image/proc\"
mount -t tmpfs tmpfs \"$image/tmp\"
mount -t tmpfs tmpfs \"$image/dev/shm\"
inside() {
    env --ignore-environment PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME=/root LANG=C.UTF-8 \\
        PYTHONDONTWRITEBYTECODE=1 chroot \"$image\" \"$@\"
}
inside ldconfig
if [ -e \"$setup\" ]; then inside sh -es <\"$setup\"; fi
if [ $# -gt 0 ]; then inside python3 -m compileall -q -j 2 --invalidation-mode unchecked-hash \"$@\" || true; fi
if [ -e \"$smoke_test\" ]; then inside python3 - <\"$smoke_test\"; fi";

/// Returns the layers of an image from the bottom up: Debian with Python, then the named ones. Images with the same layers
/// below a layer share it.
pub fn layers(cache: &Cache, names: &[&str]) -> Result<Vec<Layer>> {
    let mut layers = vec![debian::python_rootfs(cache)?];
    for name in names {
        layers.push(layer_on(cache, name, &layers)?);
    }
    Ok(layers)
}

fn layer_on(cache: &Cache, name: &str, below: &[Layer]) -> Result<Layer> {
    let recipe = layout::input("images").join(name);
    let mut key = Key::new("python layer 1")
        .with("target", TARGET.join(" "))
        .with("unpack", UNPACK)
        .with("stand-ins", standins::RECIPE)
        .with("finish", FINISH);
    for layer in below {
        key = key.with("below", layer.digest());
    }
    for file in files_below(&recipe)? {
        let path = file.strip_prefix(&recipe)?.to_string_lossy().into_owned();
        key = key.with("file", path).with_file(&file)?;
    }
    let folder = cache.artefact(&format!("layers/{name}"), key, |draft| {
        let root = draft.join("root");
        fs::create_dir_all(&root)?;
        let wheels = draft.join("wheels");
        fetch(&recipe, &wheels, &draft.join("pip.log"))?;
        unpack(&wheels, &root, draft)?;
        cache::remove(&wheels)?;
        if root.join(LIBRARIES).join("torch/lib").is_dir() {
            standins::add(&root.join(LIBRARIES))?;
        }
        let files = recipe.join("files");
        if files.is_dir() {
            Task::new("cp")
                .args(["--recursive", "--no-target-directory"])
                .args([&files, &root])
                .text()?;
        }
        finish(draft, &recipe, &root, below).with_context(|| format!("testing the layer {name}"))?;
        layer::seal(draft, &root)
    })?;
    Layer::open(folder)
}

/// Lists all files below a folder, in an order that does not depend on the file system.
fn files_below(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.extend(files_below(&entry.path())?);
        } else {
            found.push(entry.path());
        }
    }
    found.sort();
    Ok(found)
}

/// Downloads a layer's wheels, and builds wheels of what is published as source.
fn fetch(recipe: &Path, wheels: &Path, log: &Path) -> Result<()> {
    fs::create_dir_all(wheels)?;
    let (binary, source) = (recipe.join("requirements.txt"), recipe.join("sources.txt"));
    let pip = |command| -> Result<Task> { Ok(pip()?.args([command, "--quiet", "--require-hashes"])) };
    if binary.exists() {
        pip("download")?
            .args(TARGET)
            .arg("--dest")
            .arg(wheels)
            .arg("--requirement")
            .arg(&binary)
            .logged(log)?;
    }
    if source.exists() {
        pip("wheel")?
            .args(["--no-deps", "--no-binary=:all:", "--wheel-dir"])
            .arg(wheels)
            .arg("--requirement")
            .arg(&source)
            .logged(log)?;
    }
    Ok(())
}

/// Returns this machine's Python by its own path. Managers of Python versions put a wrapper on `PATH`, which does extra
/// work after each call of pip.
pub fn python() -> Result<Task> {
    let path = Task::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .text();
    let path = path.context("python3 does not run: install python3 and python3-pip")?;
    Ok(Task::new(path.trim()))
}

/// Returns this machine's pip.
pub fn pip() -> Result<Task> {
    let pip = || -> Result<Task> { Ok(python()?.args(["-m", "pip", "--disable-pip-version-check"])) };
    if !pip()?
        .arg("--version")
        .finish()
        .is_ok_and(|pip| pip.status.success())
    {
        bail!("pip does not run: install python3-pip");
    }
    pip()
}

fn unpack(wheels: &Path, root: &Path, draft: &Path) -> Result<()> {
    python()?
        .args(["-", &root.to_string_lossy(), LIBRARIES])
        .args(files_below(wheels)?)
        .input(UNPACK)
        .logged(&draft.join("unpack.log"))
}

/// Sets the image up, compiles its new libraries with the interpreter that will run them, and tests them.
fn finish(draft: &Path, recipe: &Path, root: &Path, below: &[Layer]) -> Result<()> {
    let (image, work, machine) = (draft.join("image"), draft.join("work"), draft.join("below"));
    fs::create_dir_all(&image)?;
    fs::create_dir_all(&work)?;
    for layer in below {
        debian::unpack(layer, &machine)?;
    }
    let libraries = root.join(LIBRARIES);
    let mut compiled = Vec::new();
    if libraries.is_dir() {
        for entry in fs::read_dir(&libraries)? {
            compiled.push(Path::new("/").join(LIBRARIES).join(entry?.file_name()));
        }
    }
    compiled.sort();
    let script = draft.join("finish.sh");
    fs::write(&script, FINISH)?;
    Task::new("unshare")
        .args(["--mount", "--propagation", "private", "--", "sh"])
        .arg(&script)
        .args([&image, &machine, &root.to_owned(), &work])
        .args([recipe.join("setup.sh"), recipe.join("smoke-test.py")])
        .args(compiled)
        .logged(&draft.join("smoke-test.log"))?;
    for folder in [&image, &work, &machine] {
        cache::remove(folder)?;
    }
    Ok(fs::remove_file(script)?)
}
