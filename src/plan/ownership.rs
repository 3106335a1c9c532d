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

/// Makes the metadata of an object that goes with its job.
pub(super) fn owned(job: &TrainJob, name: String) -> ObjectMeta {
    ObjectMeta {
        name: Some(name),
        namespace: job.metadata.namespace.clone(),
        owner_references: Some(vec![reference(job)]),
        ..ObjectMeta::default()
    }
}
