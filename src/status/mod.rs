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
pub use observe::{Build, Outcome, Seen, observe};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::api::{JobSet, TrainJob};

/// Finds the owner that controls an object.
pub fn controller_of(metadata: &ObjectMeta) -> Option<&OwnerReference> {
    metadata
        .owner_references
        .as_ref()?
        .iter()
        .find(|owner| owner.controller == Some(true))
}

/// Tells whether an object belongs to this very job, and not to an earlier one of the same name.
pub fn owned_by(metadata: &ObjectMeta, job: &TrainJob) -> bool {
    match (controller_of(metadata), &job.metadata.uid) {
        (Some(owner), Some(uid)) => owner.uid == *uid,
        _ => false,
    }
}

/// Gives the JobSet only if it belongs to this very job.
pub fn own_jobset<'a>(job: &TrainJob, jobset: &'a JobSet) -> Option<&'a JobSet> {
    owned_by(&jobset.metadata, job).then_some(jobset)
}
