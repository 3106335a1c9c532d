//! The policy's settings, with their defaults.

use super::implementation::{IMPLEMENTATIONS, Implementation};
use crate::api::runtime::MpiPolicy;

/// Replicated job of the launcher.
pub(super) const LAUNCHER: &str = "launcher";
/// Where the SSH keys are mounted when the runtime does not say.
const DEFAULT_SSH_PATH: &str = "/root/.ssh";

/// Returns the MPI of the runtime. The rules of the runtime refuse any that is not known.
pub(super) fn implementation(policy: &MpiPolicy) -> &'static Implementation {
    let [default, ..] = IMPLEMENTATIONS;
    let named = policy.mpi_implementation.as_deref().unwrap_or_default();
    let known = IMPLEMENTATIONS.into_iter().find(|known| known.name == named);
    known.unwrap_or(default)
}

/// Reports whether the launcher is one of the nodes.
pub(super) fn launcher_is_node(policy: &MpiPolicy) -> bool {
    policy.run_launcher_as_node.unwrap_or(false)
}

/// Returns the folder of the SSH keys.
pub(super) fn ssh_path(policy: &MpiPolicy) -> &str {
    let path = policy.ssh_auth_mount_path.as_deref();
    path.filter(|path| !path.is_empty()).unwrap_or(DEFAULT_SSH_PATH)
}
