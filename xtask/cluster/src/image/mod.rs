//! Container images without a daemon and without a registry: layers from the cache and a configuration, written as an OCI
//! layout that containerd and Docker import.

pub mod catalog;
pub mod kueue;
pub mod layer;

use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::cache::{self, Key};
use crate::process::Task;
use layer::Layer;

/// An image, as `docker build` would make it.
#[derive(Clone, Debug)]
pub struct Image {
    /// The full reference that pods use, such as `localhost/python:1`.
    pub reference: String,
    /// From the bottom up.
    pub layers: Vec<Layer>,
    /// The `config` object of the OCI image configuration: `Entrypoint`, `Env`, `User` and so on.
    pub config: Value,
}

/// A small file of an image, named by its hash.
struct Blob {
    bytes: Vec<u8>,
    digest: String,
}

impl Blob {
    fn new(value: &Value) -> Self {
        let bytes = value.to_string().into_bytes();
        let digest = format!("{:x}", Sha256::digest(&bytes));
        Self { bytes, digest }
    }

    fn descriptor(&self, media_type: &str) -> Value {
        json!({"mediaType": media_type, "digest": format!("sha256:{}", self.digest), "size": self.bytes.len()})
    }
}

impl Image {
    fn configuration(&self) -> Blob {
        let diff_ids: Vec<String> = self
            .layers
            .iter()
            .map(|layer| format!("sha256:{}", layer.digest()))
            .collect();
        Blob::new(&json!({
            "architecture": architecture(),
            "os": "linux",
            "config": self.config,
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
        }))
    }

    /// Returns what distinguishes this image from all others: reference, configuration and layers.
    pub fn identity(&self) -> String {
        format!("{}@{}", self.reference, self.configuration().digest)
    }

    /// Returns the size of its layers in bytes.
    pub fn size(&self) -> Result<u64> {
        self.layers.iter().map(Layer::size).sum()
    }

    /// Writes the image as a tar archive, which is both an OCI archive and what `docker load` reads. `scratch` is a folder
    /// that is made and removed.
    pub fn save(&self, file: &Path, scratch: &Path) -> Result<()> {
        cache::remove(scratch)?;
        let saved = self.write_layout(scratch).and_then(|()| {
            Task::new("tar")
                .arg("-C")
                .arg(scratch)
                // `-h`: the layers are links into the cache.
                .args(["--owner=0", "--group=0", "-chf"])
                .arg(file)
                .args(["oci-layout", "index.json", "manifest.json", "blobs"])
                .text()
        });
        cache::remove(scratch)?;
        saved.map(drop)
    }

    /// Writes the image as an OCI layout into a folder. Layers are symbolic links into the cache.
    pub(crate) fn write_layout(&self, folder: &Path) -> Result<()> {
        let blobs = folder.join("blobs/sha256");
        fs::create_dir_all(&blobs)?;
        let mut layers = Vec::new();
        for layer in &self.layers {
            let link = blobs.join(layer.digest());
            if !link.exists() {
                std::os::unix::fs::symlink(layer.archive(), &link)?;
            }
            layers.push(json!({
                "mediaType": "application/vnd.oci.image.layer.v1.tar",
                "digest": format!("sha256:{}", layer.digest()),
                "size": layer.size()?,
            }));
        }
        let configuration = self.configuration();
        let manifest = Blob::new(&json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": configuration.descriptor("application/vnd.oci.image.config.v1+json"),
            "layers": layers,
        }));
        let mut entry = manifest.descriptor("application/vnd.oci.image.manifest.v1+json");
        let (_, tag) = self.reference.rsplit_once(':').unwrap_or_default();
        // The names by which containerd and other tools store it.
        entry["annotations"] =
            json!({"io.containerd.image.name": self.reference, "org.opencontainers.image.ref.name": tag});
        let index = json!({"schemaVersion": 2, "manifests": [entry]});
        // The same for Docker, whose archives are older than OCI layouts.
        let path = |digest: &str| format!("blobs/sha256/{digest}");
        let paths: Vec<String> = self.layers.iter().map(|layer| path(layer.digest())).collect();
        let docker = json!([{
            "Config": path(&configuration.digest), "RepoTags": [self.reference], "Layers": paths,
        }]);
        fs::write(folder.join("manifest.json"), docker.to_string())?;
        for blob in [&configuration, &manifest] {
            fs::write(blobs.join(&blob.digest), &blob.bytes)?;
        }
        fs::write(folder.join("index.json"), index.to_string())?;
        fs::write(
            folder.join("oci-layout"),
            json!({"imageLayoutVersion": "1.0.0"}).to_string(),
        )?;
        Ok(())
    }
}

/// Returns the machine's architecture by the name that images use: the layers' programs were built here.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Returns a key of images, for what is built from them.
pub fn key_of(recipe: &str, images: &[Image]) -> Key {
    images
        .iter()
        .fold(Key::new(recipe), |key, image| key.with("image", image.identity()))
}
