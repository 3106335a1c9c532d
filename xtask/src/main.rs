//! Developer tasks; `cargo xtask --help` lists them.

mod core_types;
mod generate;

use std::path::Path;

use anyhow::{Context, Result};
use clap::Parser;

/// Developer tasks.
#[derive(Parser)]
enum Task {
    /// Write the files that are made from other files: CRDs, and the chart's copies of CRDs and runtimes.
    Generate(generate::Generate),
}

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask lies in the workspace")?;
    match Task::parse() {
        Task::Generate(generate) => generate.run(root),
    }
}
