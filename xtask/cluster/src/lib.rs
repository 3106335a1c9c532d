//! A one-node Kubernetes on this machine: the real API server, kubelet and JobSet, without Docker, systemd or an image
//! registry.
//!
//! All components are ordinary processes in namespaces of the cluster ([`namespaces`]). What they store is in one folder
//! ([`state`]). What they change on the machine is recorded and restored ([`machine`]). Programs and images are built
//! once and cached ([`programs`], [`build`], [`image`]).
//!
//! Knows nothing of the trainer: its controller is an image and a chart like any other.

mod boot;
pub mod build;
pub mod cache;
mod cluster;
pub mod console;
mod control_groups;
mod control_plane;
mod forward;
pub mod image;
mod init;
mod internal;
pub mod interrupt;
mod jobset;
pub mod kubectl;
mod layout;
mod machine;
mod namespaces;
mod network;
mod node;
mod pki;
pub mod process;
mod process_id;
mod programs;
mod removal;
mod state;
mod store;
mod up;

pub use cluster::{Cluster, Options, status};
pub use internal::Internal;
pub use layout::target;
pub use node::image_policy;
pub use removal::down;
