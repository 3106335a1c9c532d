//! What a TrainJob's status says, and when there is anything to do at all.
//!
//! Knows the job, its JobSet and the time, which is an argument. Deliberately knows no plan, no client and no clock:
//! the result says what is to be written, when to look again and whether the JobSet must go, and the controller
//! carries it out.

mod conditions;
mod due;
mod observe;

#[cfg(test)]
mod fixtures;

pub use due::{Due, due};
pub use observe::{Build, Outcome, StatusInputs, observe};

use crate::api::{JobSet, TrainJob};

/// Returns the JobSet only if it belongs to this very job.
pub fn own_jobset<'a>(job: &TrainJob, jobset: &'a JobSet) -> Option<&'a JobSet> {
    job.controls(&jobset.metadata).then_some(jobset)
}
