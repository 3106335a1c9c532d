//! Kueue as its users install it: its chart, as the pinned module brings it, and an image of its manager.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use super::Image;
use super::layer;
use crate::build::go::{self, Toolchain};
use crate::cache::Cache;

const MODULE: &str = "sigs.k8s.io/kueue";

/// What an installation takes.
pub(crate) struct Kueue {
    pub(crate) chart: PathBuf,
    pub(crate) image: Image,
}

impl Kueue {
    /// Makes what is missing.
    pub(crate) fn prepare(cache: &Cache, toolchain: &Toolchain) -> Result<Self> {
        let version = go::pinned_version("kueue", &format!("{MODULE} "))?;
        // The chart calls the program by this name, and has it run by a user who is not root.
        let image = Image {
            reference: format!("localhost/kueue:v{version}"),
            layers: vec![layer::of_program(cache, toolchain, go::KUEUE, "manager")?],
            config: json!({"Entrypoint": ["/manager"], "User": "65532:65532"}),
        };
        Ok(Self {
            chart: go::module_source("kueue", MODULE)?.join("charts/kueue"),
            image,
        })
    }
}
