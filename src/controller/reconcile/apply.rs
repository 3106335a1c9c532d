//! Third step: the plan is carried out.
//!
//! Client. Objects are made before the JobSet that uses them. The JobSet is created and never applied: one of that name
//! that exists is not taken over. An existing JobSet only gets the difference that the plan found.

use std::sync::Arc;

use kube::Api;
use kube::api::Patch;
use serde_json::{Value, json};

use super::decide::Decision;
use super::fetch::Fetched;
use super::objects;
use crate::api::{JobSet, names};
use crate::controller::client::write;
use crate::controller::context::Context;
use crate::controller::error::{Class, Doing, Error, kind_missing, unknown_field};
use crate::controller::events::Note;
use crate::controller::key::Guarded;
use crate::plan::{GangObject, JobSetAction, Plan, PlannedJobSet, Served};
use crate::status::own_jobset;

/// How it went.
pub(crate) struct Applied {
    /// The job's JobSet now.
    pub(crate) jobset: Option<Arc<Guarded<JobSet>>>,
    /// What was done, or what went wrong.
    pub(crate) result: Result<Progress, Error>,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// Nothing was to be built.
    Left,
    /// All objects were as they should be, or only side objects changed.
    Unchanged,
    /// The JobSet is new or changed.
    Changed,
}

/// Carries a decision out.
pub(crate) async fn apply(ctx: &Context, fetched: &Fetched<'_>, decision: Decision) -> Applied {
    let applied = match decision {
        Decision::Leave => Ok((fetched.jobset.clone(), Progress::Left)),
        Decision::Suspend => patch(ctx, fetched, json!({"spec": {"suspend": true}}))
            .await
            .map(|jobset| (jobset, Progress::Unchanged)),
        Decision::Apply(plan) => execute(ctx, fetched, *plan).await,
        Decision::Refuse(error) => Err(error),
    };
    match applied {
        Ok((jobset, progress)) => Applied {
            jobset,
            result: Ok(progress),
        },
        Err(error) => Applied {
            jobset: fetched.jobset.clone(),
            result: Err(error),
        },
    }
}

/// Carries a plan out. The plan is destructured whole, so a new kind of object does not compile until it is applied.
async fn execute(
    ctx: &Context,
    fetched: &Fetched<'_>,
    plan: Plan,
) -> Result<(Option<Arc<Guarded<JobSet>>>, Progress), Error> {
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
        objects::create_secret(ctx, fetched, secret).await?;
    }
    if let Some(snapshot) = snapshot {
        objects::ensure(ctx, fetched, json!(snapshot), Served::Whole).await?;
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
    let progress = match action {
        JobSetAction::Keep => Progress::Unchanged,
        JobSetAction::Create | JobSetAction::Patch(_) => Progress::Changed,
    };
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
    Ok((jobset, progress))
}

/// Creates the JobSet, and reports whether it is new. One that exists by now is the job's own, made by a try whose answer
/// was lost, or it is left alone. It is looked for after every refusal, since a quota or a webhook may refuse a second
/// creation before the API server says that the name is taken.
async fn create(
    ctx: &Context,
    fetched: &Fetched<'_>,
    object: Value,
) -> Result<(Arc<Guarded<JobSet>>, bool), Error> {
    let name = &fetched.key.name;
    let api: Api<JobSet> = ctx.api(fetched.key);
    let refusal = match write::create_strictly::<JobSet>(&ctx.client, fetched.key, &object).await {
        Ok(created) => {
            tracing::info!("created JobSet");
            ctx.deleted_jobsets.forget(fetched.key);
            return Ok((remember(ctx, fetched, created), true));
        }
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
        Some(existing) if own_jobset(fetched.job, &existing).is_none() => {
            Err(fetched.not_ours(names::JOBSET, name, &existing.metadata))
        }
        Some(existing) if existing.metadata.deletion_timestamp.is_none() => {
            Ok((remember(ctx, fetched, existing), false))
        }
        _ => Err(refusal),
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
        .patch(name, &write::patch(), &Patch::Merge(&change))
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
