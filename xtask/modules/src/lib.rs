//! Reads which modules of a crate import which others: the rules about layers, and circles.
//!
//! Knows Rust's syntax (through `syn`), how modules map to files, and how `use` names things. Does not know types or
//! traits: a method call is no import, the `use` or the path that names its type is. Code under `#[cfg(test)]` does not
//! count.

mod circles;
mod names;
mod paths;
mod rules;
mod sources;

pub use circles::{Circle, circles};
pub use rules::{Layers, Peers};
pub use sources::Sources;
