//! Last step: the status is written, and a JobSet whose time is up is deleted.
//!
//! Client. The status goes first: should this program end in between, the JobSet is deleted by the next one, and
//! never made again.

use std::sync::Arc;

use kube::Api;
use kube::api::{DeleteParams, Patch, Preconditions};
use serde_json::{Value, json};

use crate::api::{JobSet, TrainJob};
use crate::controller::client::write;
use crate::controller::context::Context;
use crate::controller::error::{Doing, Error, not_found};
use crate::controller::key::{Guarded, Key};
use crate::status::Outcome;

/// Writes what [`crate::status::observe`] found.
pub(crate) async fn update_status(
    ctx: &Context,
    key: &Key,
    job: &TrainJob,
    jobset: Option<&JobSet>,
    outcome: &Outcome,
) -> Result<(), Error> {
    if let Some(patch) = &outcome.patch {
        write_status(ctx, key, job, patch.clone()).await?;
    }
    match jobset {
        Some(jobset) if outcome.delete_jobset => delete(ctx, key, jobset).await,
        _ => Ok(()),
    }
}

/// Patches the very version of the status that was read, since its lists are replaced whole.
async fn write_status(ctx: &Context, key: &Key, job: &TrainJob, mut patch: Value) -> Result<(), Error> {
    let api: Api<TrainJob> = ctx.api(key);
    patch["metadata"] = json!({"uid": job.metadata.uid, "resourceVersion": job.metadata.resource_version});
    match api
        .patch_status(&key.name, &write::patch(), &Patch::Merge(&patch))
        .await
    {
        Ok(written) => {
            let written = Arc::new(kube::core::DeserializeGuard(Ok(written)) as Guarded<TrainJob>);
            ctx.written_jobs.put(key.clone(), written);
            Ok(())
        }
        // The job is gone.
        Err(error) if not_found(&error) => Ok(()),
        Err(error) => Err(error).doing(|| "write the status".to_owned()),
    }
}

async fn delete(ctx: &Context, key: &Key, jobset: &JobSet) -> Result<(), Error> {
    let params = DeleteParams::background().preconditions(Preconditions {
        uid: jobset.metadata.uid.clone(),
        resource_version: None,
    });
    match ctx.api::<JobSet>(key).delete(&key.name, &params).await {
        Ok(_) => {
            tracing::info!("deleted JobSet, the deadline has passed");
            Ok(())
        }
        Err(error) if not_found(&error) => Ok(()),
        Err(error) => Err(error).doing(|| format!("delete JobSet {}", key.name)),
    }
}
