//! Commands that a cluster's own processes run.
//!
//! Two of them are this program again: process 1 of the namespaces, and the one that forwards a port. So a program that
//! brings clusters up must accept these commands.

use anyhow::Result;

use crate::{forward, init};

/// Commands of the program that calls this crate; to be flattened into its own.
#[derive(Debug, clap::Subcommand)]
pub enum Internal {
    /// Process 1 of a cluster's namespaces (internal)
    #[command(name = init::COMMAND, hide = true)]
    ClusterInit {
        /// What it sets up, as JSON
        setup: String,
    },

    /// The process that forwards a port to a cluster's API server (internal)
    #[command(name = forward::COMMAND, hide = true)]
    ClusterForward {
        /// Process 1 of the cluster's namespaces
        init: i32,
    },
}

impl Internal {
    /// Runs the command until the cluster ends.
    pub fn run(&self) -> Result<()> {
        match self {
            Self::ClusterInit { setup } => init::run(setup),
            Self::ClusterForward { init } => forward::run(*init),
        }
    }
}
