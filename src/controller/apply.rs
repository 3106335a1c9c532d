//! Third step: the plan is carried out.
//!
//! Client. Objects are made before the JobSet that uses them. The JobSet is made by server-side apply without force:
//! one of that name that appeared meanwhile, perhaps someone else's, is not taken over. An existing JobSet only gets
//! the difference that the plan found.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

use super::context::{Context, Guarded};
use super::decide::Decision;
use super::error::{Class, Doing, Error, kind_missing, unknown_field};
use super::events::Note;
use super::fetch::Fetched;
use super::objects;
use crate::api::{JobSet, names};
use crate::plan::{GangObject, JobSetAction, Plan, PlannedJobSet, Served};
use crate::status::own_jobset;

/// How it went.
pub(super) struct Applied {
    /// The job's JobSet now.
    pub jobset: Option<Arc<Guarded<JobSet>>>,
    /// Whether all objects are known to be as they should be.
    pub done: bool,
    /// Whether all went well and the JobSet is not what it was before.
    pub changed: bool,
    /// What went wrong.
    pub error: Option<Error>,
}

/// Carries a decision out.
pub(super) async fn apply(ctx: &Context, fetched: &Fetched<'_>, decision: Decision) -> Applied {
    let result = match decision {
        Decision::Leave => {
            return Applied {
                jobset: fetched.jobset.clone(),
                done: false,
                changed: false,
                error: None,
            };
        }
        Decision::Apply(plan) => execute(ctx, fetched, *plan).await,
        Decision::Refuse { error, stop: false } => Err(error),
        Decision::Refuse { error, stop: true } => {
            let stop = json!({"spec": {"suspend": true}});
            patch(ctx, fetched, stop).await.and(Err(error))
        }
    };
    match result {
        Ok((jobset, changed)) => Applied {
            jobset,
            done: true,
            changed,
            error: None,
        },
        Err(error) => Applied {
            jobset: fetched.jobset.clone(),
            done: false,
            changed: false,
            error: Some(error),
        },
    }
}

/// Carries a plan out, and tells whether the JobSet changed. The plan is taken apart whole, so that a new kind of object
/// cannot be forgotten here.
async fn execute(
    ctx: &Context,
    fetched: &Fetched<'_>,
    plan: Plan,
) -> Result<(Option<Arc<Guarded<JobSet>>>, bool), Error> {
    let Plan {
        secrets,
        snapshot,
        config_maps,
        gang_objects,
        gang: _,
        jobset: PlannedJobSet {
            object,
            action,
            frozen,
        },
        warnings,
        trace: _,
    } = plan;
    for warning in warnings {
        tracing::info!(warning);
        ctx.events.send(Note::warning(fetched.job, &warning));
    }
    // A Secret that is there before the snapshot may be one of an older job of the same name.
    for secret in &secrets {
        objects::create_secret(ctx, fetched, secret, snapshot.is_none()).await?;
    }
    if let Some(snapshot) = snapshot {
        create_snapshot(ctx, fetched, &snapshot).await?;
    }
    for config_map in &config_maps {
        objects::ensure(ctx, fetched, json!(config_map), Served::Whole).await?;
    }
    for GangObject { object, served } in gang_objects {
        objects::ensure(ctx, fetched, object, served).await?;
    }
    if !frozen.is_empty() {
        ctx.events.send(Note::frozen(fetched.job, &frozen));
    }
    let changed = !matches!(action, JobSetAction::Keep);
    let (jobset, agrees) = match action {
        JobSetAction::Create => {
            let (jobset, new) = create(ctx, fetched, object).await?;
            (Some(jobset), new)
        }
        JobSetAction::Patch(change) => (patch(ctx, fetched, change).await?, true),
        JobSetAction::Keep => (fetched.jobset.clone(), true),
    };
    if let (true, Some(Ok(jobset))) = (agrees, jobset.as_ref().map(|j| &j.0)) {
        ctx.compared.agree(fetched.key, fetched.job, jobset);
    }
    Ok((jobset, changed))
}

/// Creates the snapshot. One that exists by now is read by the next try.
async fn create_snapshot(ctx: &Context, fetched: &Fetched<'_>, snapshot: &ConfigMap) -> Result<(), Error> {
    ctx.api::<ConfigMap>(fetched.key)
        .create(&post(), snapshot)
        .await
        .map(|_| ())
        .doing(|| format!("create ConfigMap {}", snapshot.name_any()))
}

/// Makes the JobSet, and tells whether it is new. One that exists by now is fine if it is the job's own; the watch
/// brings it soon. It is looked for after every refusal, as JobSet's webhook may not let it be applied again.
async fn create(
    ctx: &Context,
    fetched: &Fetched<'_>,
    object: Value,
) -> Result<(Arc<Guarded<JobSet>>, bool), Error> {
    let name = &fetched.key.name;
    let api: Api<JobSet> = ctx.api(fetched.key);
    let refusal = match api.patch(name, &patch_params(), &Patch::Apply(&object)).await {
        Ok(created) if own_jobset(fetched.job, &created).is_some() => {
            tracing::info!("created JobSet");
            return Ok((remember(ctx, fetched, created), true));
        }
        Ok(_) => return Err(foreign(name)),
        Err(error) if kind_missing(&error) => {
            return Err(Error::KindMissing {
                kind: names::JOBSET.to_owned(),
                api_version: names::JOBSET_API_VERSION.to_owned(),
                served: Served::Whole,
            });
        }
        Err(error) => error,
    };
    if let Some(field) = unknown_field(&refusal) {
        return Err(Error::OldJobSet { field });
    }
    let refusal = Error::Api {
        doing: format!("create JobSet {name}"),
        source: Box::new(refusal),
    };
    if !matches!(refusal.class(), Class::Conflict | Class::Rejected) {
        return Err(refusal);
    }
    match api.get_opt(name).await.doing(|| format!("get JobSet {name}"))? {
        Some(existing) if own_jobset(fetched.job, &existing).is_some() => {
            Ok((remember(ctx, fetched, existing), false))
        }
        // Without force, a field that someone else set to another value is a conflict; where there is none, JobSet
        // does not let the spec change.
        Some(_) => Err(foreign(name)),
        None => Err(refusal),
    }
}

fn foreign(name: &str) -> Error {
    Error::Foreign {
        kind: names::JOBSET.to_owned(),
        name: name.to_owned(),
    }
}

/// Changes the JobSet that was looked at, and no other. A change with lists only goes onto the very version that
/// it was made from, as it replaces them whole.
async fn patch(
    ctx: &Context,
    fetched: &Fetched<'_>,
    mut change: Value,
) -> Result<Option<Arc<Guarded<JobSet>>>, Error> {
    let Some(jobset) = fetched.jobset() else {
        return Ok(None);
    };
    change["metadata"]["uid"] = json!(jobset.metadata.uid);
    if change.pointer("/spec/replicatedJobs").is_some() {
        change["metadata"]["resourceVersion"] = json!(jobset.metadata.resource_version);
    }
    let name = &fetched.key.name;
    let patched = ctx
        .api::<JobSet>(fetched.key)
        .patch(name, &patch_params(), &Patch::Merge(&change))
        .await
        .doing(|| format!("patch JobSet {name}"))?;
    tracing::info!(suspend = patched.suspended(), "patched JobSet");
    Ok(Some(remember(ctx, fetched, patched)))
}

fn remember(ctx: &Context, fetched: &Fetched<'_>, jobset: JobSet) -> Arc<Guarded<JobSet>> {
    let jobset = Arc::new(kube::core::DeserializeGuard(Ok(jobset)));
    ctx.written_jobsets.put(fetched.key.clone(), jobset.clone());
    jobset
}

pub(super) fn post() -> PostParams {
    PostParams {
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
        ..PostParams::default()
    }
}

pub(super) fn patch_params() -> PatchParams {
    PatchParams {
        field_manager: Some(names::FIELD_MANAGER.to_owned()),
        ..PatchParams::default()
    }
}
