//! Who owns what is made for a job.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::api::{TrainJob, names};

/// Makes the reference by which garbage collection takes an object away with its job.
pub(super) fn reference(job: &TrainJob) -> OwnerReference {
    OwnerReference {
        api_version: names::API_VERSION.to_owned(),
        kind: names::TRAIN_JOB.to_owned(),
        name: job.metadata.name.clone().unwrap_or_default(),
        uid: job.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Tells whether `job` is the controlling owner of an object; an older job of the same name is not.
pub fn owns(job: &TrainJob, object: &ObjectMeta) -> bool {
    let owners = object.owner_references.as_deref().unwrap_or_default();
    let controller = owners.iter().find(|o| o.controller == Some(true));
    controller.is_some_and(|o| o.uid == job.metadata.uid.as_deref().unwrap_or_default())
}
