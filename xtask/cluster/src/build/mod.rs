//! Builds what the cluster and its images consist of, from package registries.

pub(crate) mod debian;
pub mod go;
pub mod python;
mod standins;
