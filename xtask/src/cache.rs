//! What is made once and kept: programs, image layers, image stores. Each lives in a folder whose name ends in a hash
//! over everything that decides its content, so it is never stale and never has to be deleted to be right.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use sha2::{Digest, Sha256};

use crate::console::say;
use crate::layout;

/// Hashes the inputs of an artefact. Each input goes in with a label and its length, so no two lists of inputs look
/// alike.
pub(crate) struct Key(Sha256);

impl Key {
    /// `recipe` names the way of making; change it when the code that makes the artefact changes what comes out.
    pub(crate) fn new(recipe: &str) -> Self {
        Self(Sha256::new()).with("recipe", recipe)
    }

    pub(crate) fn with(mut self, label: &str, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        self.0.update(format!("{label} {}\n", value.len()));
        self.0.update(value);
        self
    }

    pub(crate) fn with_file(self, file: &Path) -> Result<Self> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        Ok(self.with(&name, bytes))
    }

    /// The first eight bytes of the hash: enough to tell artefacts apart.
    pub(crate) fn short(self) -> String {
        hex(&self.0.finalize()[..8])
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes
        .iter()
        .fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}

/// The folder of all artefacts.
#[derive(Clone)]
pub(crate) struct Cache {
    root: PathBuf,
}

impl Cache {
    /// `$TRAINER_CACHE_DIR`, else `kubeflow-trainer` below the user's cache folder.
    pub(crate) fn open() -> Result<Self> {
        let root = match env::var_os("TRAINER_CACHE_DIR").filter(|value| !value.is_empty()) {
            Some(root) => PathBuf::from(root),
            None => user_cache()?.join("kubeflow-trainer"),
        };
        Self::at(root)
    }

    /// A cache for what changes with every edit of this repository: it goes with the other build output.
    pub(crate) fn of_this_build() -> Result<Self> {
        Self::at(layout::target().join("images"))
    }

    fn at(root: PathBuf) -> Result<Self> {
        fs::create_dir_all(root.join("tmp")).with_context(|| format!("cannot make {}", root.display()))?;
        fs::create_dir_all(root.join("locks"))?;
        Ok(Self {
            root: root.canonicalize()?,
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The artefact's folder, made by `make` when it is not there yet. `make` fills a folder elsewhere that is moved into
    /// place at the end, so an artefact is whole or absent; two tasks that want the same one wait for each other.
    pub(crate) fn artefact(
        &self,
        name: &str,
        key: Key,
        make: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let label = format!("{name}-{}", key.short());
        let folder = self.root.join(&label);
        if folder.is_dir() {
            return Ok(folder);
        }
        let lock = File::create(
            self.root
                .join("locks")
                .join(format!("{}.lock", label.replace('/', "-"))),
        )?;
        if lock.try_lock().is_err() {
            say!("waiting for another task that makes {name}");
            lock.lock()?;
        }
        if folder.is_dir() {
            return Ok(folder);
        }
        say!("making {name} ...");
        let started = Instant::now();
        let draft = self
            .root
            .join("tmp")
            .join(format!("{}.{}", label.replace('/', "-"), std::process::id()));
        remove(&draft)?;
        fs::create_dir_all(&draft)?;
        if let Err(error) = make(&draft) {
            // The draft's logs are quoted in the error; the rest is of no use.
            let _ = remove(&draft);
            return Err(error.context(format!("making {name}")));
        }
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::rename(&draft, &folder)?;
        say!("made {name} in {:.0} s", started.elapsed().as_secs_f64());
        Ok(folder)
    }
}

fn user_cache() -> Result<PathBuf> {
    let set = |name| {
        env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .ok_or_else(|| anyhow!("set TRAINER_CACHE_DIR: there is neither XDG_CACHE_HOME nor HOME"))
}

/// Removes a folder and all in it, if it is there.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}
