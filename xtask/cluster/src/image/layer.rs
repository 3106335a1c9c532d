//! Image layers: tar archives of folders, with the same bytes for the same files.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::build::go::{Program, Toolchain};
use crate::cache::{self, Cache, Key};
use crate::process::Task;

const ARCHIVE: &str = "layer.tar";
const DIGEST: &str = "digest";

/// A layer in the cache.
#[derive(Clone, Debug)]
pub struct Layer {
    folder: PathBuf,
    digest: String,
}

impl Layer {
    /// Opens a layer that [`seal`] has made.
    pub fn open(folder: PathBuf) -> Result<Self> {
        let file = folder.join(DIGEST);
        let digest = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(Self {
            folder,
            digest: digest.trim().to_owned(),
        })
    }

    /// Returns the archive's SHA-256 in hexadecimal. It is also the `diff_id`, since layers are not compressed.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the tar archive.
    pub fn archive(&self) -> PathBuf {
        self.folder.join(ARCHIVE)
    }

    /// Returns the archive's size in bytes.
    pub fn size(&self) -> Result<u64> {
        Ok(fs::metadata(self.archive())?.len())
    }
}

/// Packs the folder `root` into a layer in `artefact`, and removes the folder.
pub fn seal(artefact: &Path, root: &Path) -> Result<()> {
    let archive = artefact.join(ARCHIVE);
    Task::new("tar")
        .arg("-C")
        .arg(root)
        .args([
            "--sort=name",
            "--mtime=@0",
            "--numeric-owner",
            "--format=gnu",
            "-cf",
        ])
        .arg(&archive)
        .arg(".")
        .text()?;
    cache::remove(root)?;
    fs::write(artefact.join(DIGEST), sha256(&archive)?)?;
    Ok(())
}

/// Returns a layer whose only file is a Go program, which needs no library.
pub fn of_program(cache: &Cache, toolchain: &Toolchain, program: Program, file: &str) -> Result<Layer> {
    let built = toolchain.build(cache, program)?;
    let key = Key::new("program layer 1").with("file", file).with_file(&built)?;
    let folder = cache.artefact(&format!("layers/{}", program.name), key, |draft| {
        let root = draft.join("root");
        fs::create_dir_all(&root)?;
        fs::copy(&built, root.join(file))?;
        seal(draft, &root)
    })?;
    Layer::open(folder)
}

/// Returns the SHA-256 of a file in hexadecimal.
pub fn sha256(file: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    let mut file = File::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let mut buffer = vec![0; 1 << 20];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(format!("{:x}", hash.finalize())),
            Ok(read) => hash.update(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}
