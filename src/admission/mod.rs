//! Admission: a request in, a verdict out.
//!
//! Knows which rules depend on the operation (create or update), and which facts an update may be checked against. Rules
//! that depend on a job and its runtime alone belong to [`plan`](crate::plan), so that the controller refuses the same
//! jobs without a webhook. Deliberately knows no HTTP and no client. The API server applies the schema.

mod patches;
mod runtime;
mod time;
mod train_job;

pub use runtime::runtime;
pub use time::stamp_patches;
pub use train_job::{Operation, TrainJobRequest, train_job};

use crate::k8s::problem::Problems;

/// The answer of admission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// Why the object is refused; empty if it is allowed.
    pub problems: Problems,
    /// What the author should know although the object is allowed.
    pub warnings: Vec<String>,
}

impl Verdict {
    /// Reports whether the object is allowed.
    pub fn allowed(&self) -> bool {
        self.problems.is_empty()
    }
}
