//! `cargo xtask modules`: which modules of `src/` import each other in circles.

use anyhow::Result;
use local_cluster::console;
use module_imports::{Sources, circles};

use crate::layout;

/// Prints the circles, the largest first.
pub(crate) fn run() -> Result<()> {
    let sources = Sources::read(&layout::repository().join("src"), "trainer")?;
    let circles = circles(&sources);
    console::print(&format!("{} modules, {} circles", sources.count(), circles.len()));
    for circle in circles {
        console::print(&format!("\n{circle}"));
    }
    Ok(())
}
