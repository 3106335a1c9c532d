//! Makes what the cluster and its images consist of, from package registries, each thing once.

pub(crate) mod debian;
pub(crate) mod go;
pub(crate) mod python;
pub(crate) mod sdk;
mod standins;
