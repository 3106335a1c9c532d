//! Where things are in the repository.

use std::path::Path;

pub(crate) use local_cluster::target;

/// Returns the root of the repository. This crate is its folder `xtask`.
pub(crate) fn repository() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().unwrap_or(here)
}
