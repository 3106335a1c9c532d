//! What is built once and kept: programs, image layers, image stores. Each is a folder whose name ends in a hash of
//! everything that decides its content, so it is never stale.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use sha2::{Digest, Sha256};

use crate::layout;
use crate::say;

/// The hash of an artefact's inputs. Each input is hashed with a label and its length, so different lists of inputs have
/// different keys.
pub struct Key(Sha256);

impl Key {
    /// Returns a key without inputs. `recipe` names how the artefact is built: change it when the code that builds the
    /// artefact changes the result.
    pub fn new(recipe: &str) -> Self {
        Self(Sha256::new()).with("recipe", recipe)
    }

    /// Adds an input.
    pub fn with(mut self, label: &str, value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        self.0.update(format!("{label} {}\n", value.len()));
        self.0.update(value);
        self
    }

    /// Adds a file's name and content.
    pub fn with_file(self, file: &Path) -> Result<Self> {
        let bytes = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        Ok(self.with(&name, bytes))
    }

    /// Returns the first eight bytes of the hash in hexadecimal: enough to distinguish artefacts.
    pub fn short(self) -> String {
        let mut digits = format!("{:x}", self.0.finalize());
        digits.truncate(16);
        digits
    }
}

/// The folder of all artefacts.
#[derive(Clone)]
pub struct Cache {
    root: PathBuf,
}

impl Cache {
    /// Opens `$TRAINER_CACHE_DIR`, or else `kubeflow-trainer` in the user's cache folder.
    pub fn open() -> Result<Self> {
        let root = match env::var_os("TRAINER_CACHE_DIR").filter(|value| !value.is_empty()) {
            Some(root) => PathBuf::from(root),
            None => user_cache()?.join("kubeflow-trainer"),
        };
        Self::at(root)
    }

    /// Opens the cache for what changes with every edit of this repository. It is part of the build output.
    pub fn of_this_build() -> Result<Self> {
        Self::at(layout::target().join("images"))
    }

    fn at(root: PathBuf) -> Result<Self> {
        fs::create_dir_all(root.join("tmp")).with_context(|| format!("cannot make {}", root.display()))?;
        fs::create_dir_all(root.join("locks"))?;
        Ok(Self {
            root: root.canonicalize()?,
        })
    }

    /// Returns the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the artefact's folder, built by `make` if it does not exist. `make` fills another folder, which is renamed at
    /// the end, so an artefact is complete or absent. Two processes that need the same one wait for each other.
    pub fn artefact(&self, name: &str, key: Key, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
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
            say!("waiting for another process that builds {name}");
            lock.lock()?;
        }
        if folder.is_dir() {
            return Ok(folder);
        }
        say!("building {name} ...");
        let started = Instant::now();
        let draft = self
            .root
            .join("tmp")
            .join(format!("{}.{}", label.replace('/', "-"), std::process::id()));
        remove(&draft)?;
        fs::create_dir_all(&draft)?;
        if let Err(error) = make(&draft) {
            // The error quotes the draft's logs; the rest is useless.
            let _ = remove(&draft);
            return Err(error.context(format!("building {name}")));
        }
        if let Some(parent) = folder.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::rename(&draft, &folder)?;
        say!("built {name} in {:.0} s", started.elapsed().as_secs_f64());
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
        .ok_or_else(|| anyhow!("neither XDG_CACHE_HOME nor HOME is set: set TRAINER_CACHE_DIR"))
}

/// Removes a folder with its content, if it exists.
pub fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("cannot remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::Key;

    #[test]
    fn the_same_bytes_as_other_inputs_are_another_key() {
        let one = Key::new("x").with("a", "1").with("b", "2").short();
        assert_eq!(one, Key::new("x").with("a", "1").with("b", "2").short());
        assert_ne!(one, Key::new("y").with("a", "1").with("b", "2").short());
        assert_ne!(one, Key::new("x").with("b", "2").with("a", "1").short());
        assert_ne!(one, Key::new("x").with("a", "1b 1\n2").short());
    }
}
