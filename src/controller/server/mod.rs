//! The HTTP servers: one file each, and how they listen.

pub(crate) mod health;
mod listen;
pub(crate) mod metrics;
