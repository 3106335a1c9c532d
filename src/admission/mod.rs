//! Admission: a request in, a verdict out.
//!
//! Knows which rules depend on what is done to an object (created or changed), and which objects a change may be
//! judged by. The rules that depend on a job and its runtime alone are the plan's own, so that the controller refuses
//! the same jobs when no webhook is there. Deliberately knows no HTTP and no client; the schema's rules are the API
//! server's.

mod patches;
mod runtime;
mod time;
mod train_job;

pub use runtime::runtime;
pub use time::stamp_patches;
pub use train_job::{Operation, TrainJobRequest, train_job};

use crate::k8s::problem::Problems;

/// What admission says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Why the object is refused; nothing when it is allowed.
    pub problems: Problems,
    /// What the author should know although the object may be allowed.
    pub warnings: Vec<String>,
}

impl Verdict {
    /// Tells whether the object is allowed.
    pub fn allowed(&self) -> bool {
        self.problems.is_empty()
    }
}
