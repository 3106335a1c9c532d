//! Kueue as its users install it: the chart of the pinned module, and an image of its manager.

use std::path::PathBuf;

use anyhow::Result;
use serde_json::json;

use super::Image;
use super::layer;
use crate::build::go::{self, Toolchain};
use crate::cache::Cache;

const MODULE: &str = "sigs.k8s.io/kueue";

/// What an installation needs.
pub struct Kueue {
    /// The folder of the chart.
    pub chart: PathBuf,
    /// The manager's image.
    pub image: Image,
}

impl Kueue {
    /// Builds what is missing.
    pub fn prepare(cache: &Cache, toolchain: &Toolchain) -> Result<Self> {
        let version = go::pinned_version("kueue", &format!("{MODULE} "))?;
        // The chart runs the program by this name, as a user other than root.
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
