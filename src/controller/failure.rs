//! Why the controller could not start, or ended.

use std::io;

/// Why the controller could not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The value of `--log-level` means nothing.
    #[error("--log-level {0:?} is not a log level; use error, warn, info, debug or trace")]
    LogLevel(String),
    /// The system refused something that the program needs.
    #[error(transparent)]
    System(#[from] io::Error),
    /// No cluster was found, or its client cannot be made.
    #[error("cannot connect to a cluster")]
    Connect(#[source] Box<kube::Error>),
    /// A part of the controller ended that must not.
    #[error("{0} ended unexpectedly")]
    Ended(&'static str),
    /// The shipped runtimes could not be applied or deleted.
    #[error("{0}")]
    Runtimes(String),
}
