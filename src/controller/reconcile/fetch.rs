//! First step: what there is.
//!
//! Client. Reads from memory what a watch has brought, and from the API server only what a build needs: the JobSet
//! as it is now, the snapshot, and the runtime where there is none.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ApiResource, DeserializeGuard, DynamicObject};
use kube::{Api, Resource, ResourceExt};

use crate::api::{JobSet, TrainJob, names};
use crate::controller::cache::watch::State;
use crate::controller::context::Context;
use crate::controller::error::{Doing, Error, kind_missing, not_found};
use crate::controller::key::{Guarded, Key};
use crate::plan::{self, ClusterFacts, Inputs, Observed, Resolved, Served};
use crate::status::{Due, due, own_jobset};
use tokio::time::Instant;

/// How long an object of the wanted name may still be one of an earlier job that is about to be collected.
pub(crate) const COLLECTED_WITHIN: Duration = Duration::from_secs(60);

/// What there is of a job.
pub(crate) struct Fetched<'a> {
    /// Where the job is.
    pub key: &'a Key,
    /// The job.
    pub job: &'a TrainJob,
    /// Its own JobSet; whole only when a build is due.
    pub jobset: Option<Arc<Guarded<JobSet>>>,
    /// How much is to be done.
    pub due: Due,
    /// When all this was read.
    pub now: Timestamp,
}

/// What a build needs.
pub(crate) struct Facts<'a> {
    /// The job, and the runtime that it is built from.
    pub resolved: Resolved<'a>,
    /// Facts of the cluster that it depends on.
    pub cluster: ClusterFacts,
}

impl Fetched<'_> {
    /// How long ago the job was created.
    pub(crate) fn age(&self) -> Duration {
        let created = self.job.metadata.creation_timestamp.as_ref();
        created
            .and_then(|created| Duration::try_from(self.now.duration_since(created.0)).ok())
            .unwrap_or_default()
    }

    /// Returns the error for an object that belongs to something else: soon gone if that is an earlier TrainJob.
    pub(crate) fn not_ours(&self, kind: &str, name: &str, metadata: &ObjectMeta) -> Error {
        let (kind, name) = (kind.to_owned(), name.to_owned());
        let controller = metadata
            .owner_references
            .iter()
            .flatten()
            .find(|owner| owner.controller == Some(true));
        let of_predecessor = controller.is_some_and(|owner| {
            owner.kind == names::TRAIN_JOB
                && owner.api_version == names::API_VERSION
                && owner.name == self.job.name()
        });
        if of_predecessor && self.age() <= COLLECTED_WITHIN {
            Error::Predecessor { kind, name }
        } else {
            Error::Foreign { kind, name }
        }
    }

    /// The JobSet, if it can be read.
    pub(crate) fn jobset(&self) -> Option<&JobSet> {
        self.jobset.as_ref().and_then(|j| j.0.as_ref().ok())
    }
}

/// Reads what there is of a job, which was `seen` then, and what a build needs, where one is due, or why that cannot be
/// known.
pub(crate) async fn fetch<'a>(
    ctx: &'a Context,
    key: &'a Key,
    job: &'a TrainJob,
    seen: Instant,
) -> Result<(Fetched<'a>, Result<Option<Facts<'a>>, Error>), Error> {
    let now = ctx.clock.now();
    let mut fetched = Fetched {
        key,
        job,
        jobset: None,
        due: due(job, None, None, now),
        now,
    };
    if fetched.due == Due::Nothing {
        return Ok((fetched, Ok(None)));
    }
    let mut existing = match jobset(ctx, key, job).await {
        Ok(existing) => existing,
        Err(error @ Error::KindMissing { .. }) => return Ok((fetched, Err(error))),
        Err(error) => return Err(error),
    };
    let deleted = ctx.deleted_jobsets.of(key, job);
    let judge = |existing: &Existing| due(job, existing.own(), deleted.as_ref(), now);
    fetched.due = judge(&existing);
    let known = |jobset: &JobSet| ctx.compared.known(key, job, jobset);
    match (fetched.due, existing.own()) {
        (Due::Build, Some(jobset)) if known(jobset) => fetched.due = Due::Observe,
        (Due::Build, Some(_)) | (Due::Lost, _) => {
            existing = live_jobset(ctx, key, job).await?;
            fetched.due = judge(&existing);
        }
        _ => {}
    }
    let facts = match (fetched.due, &existing) {
        (Due::Build, Existing::Other(other)) => Err(fetched.not_ours(names::JOBSET, &key.name, other.meta())),
        (Due::Build, _) => {
            let facts = facts(ctx, &fetched, existing.own().cloned(), deleted.clone(), seen);
            facts.await.map(Some)
        }
        (Due::Lost, _) => Err(Error::JobSetLost),
        _ => Ok(None),
    };
    fetched.jobset = match existing {
        Existing::Own(jobset) => Some(jobset),
        // Its end counts although it is gone.
        _ if fetched.due == Due::Observe => deleted.map(|jobset| Arc::new(DeserializeGuard(Ok(jobset)))),
        _ => None,
    };
    Ok((fetched, facts))
}

/// Reports which field of a stored TrainJob failed to deserialize: the watch does not keep the path.
pub(crate) async fn unreadable(ctx: &Context, key: &Key, what: &str) -> Error {
    let resource = ApiResource::erase::<TrainJob>(&());
    let namespace = key.namespace.as_deref().unwrap_or_default();
    let api = Api::<DynamicObject>::namespaced_with(ctx.client.clone(), namespace, &resource);
    let stored = api
        .get(&key.name)
        .await
        .ok()
        .and_then(|object| serde_json::to_value(object).ok());
    let found = stored.and_then(|stored| serde_path_to_error::deserialize::<_, TrainJob>(stored).err());
    Error::Unreadable(found.map_or_else(|| what.to_owned(), |e| format!("{}: {}", e.path(), e.inner())))
}

/// What there is under the name of a job's JobSet.
enum Existing {
    Nothing,
    /// The job's own JobSet.
    Own(Arc<Guarded<JobSet>>),
    /// A JobSet of something else.
    Other(Arc<Guarded<JobSet>>),
}

impl Existing {
    fn of(job: &TrainJob, found: Option<Arc<Guarded<JobSet>>>) -> Result<Self, Error> {
        let Some(guarded) = found else {
            return Ok(Self::Nothing);
        };
        match &guarded.0 {
            Ok(jobset) if own_jobset(job, jobset).is_some() => Ok(Self::Own(guarded)),
            Err(broken) if job.controls(&broken.metadata) => Err(Error::UnreadableOther {
                what: format!("JobSet {}", guarded.name_any()),
                why: broken.error.clone(),
            }),
            _ => Ok(Self::Other(guarded)),
        }
    }

    fn own(&self) -> Option<&JobSet> {
        match self {
            Self::Own(guarded) => guarded.0.as_ref().ok(),
            Self::Nothing | Self::Other(_) => None,
        }
    }
}

/// Looks for the JobSet of the job's name in memory, or at the API server while the watch has no list.
async fn jobset(ctx: &Context, key: &Key, job: &TrainJob) -> Result<Existing, Error> {
    if ctx.jobsets.state() != State::Listed {
        return live_jobset(ctx, key, job).await;
    }
    Existing::of(job, ctx.jobset(key))
}

async fn live_jobset(ctx: &Context, key: &Key, job: &TrainJob) -> Result<Existing, Error> {
    match ctx.api::<Guarded<JobSet>>(key).get(&key.name).await {
        Ok(jobset) => Existing::of(job, Some(Arc::new(jobset))),
        Err(error) if kind_missing(&error) => Err(Error::KindMissing {
            kind: names::JOBSET.to_owned(),
            api_version: names::JOBSET_API_VERSION.to_owned(),
            served: Served::Whole,
        }),
        Err(error) if not_found(&error) => Ok(Existing::Nothing),
        Err(error) => Err(error).doing(|| format!("get JobSet {}", key.name)),
    }
}

/// Reads what a build needs: the snapshot of a JobSet that exists or existed, the live runtime where none counts, and what
/// the plan depends on by that.
async fn facts<'a>(
    ctx: &'a Context,
    fetched: &Fetched<'a>,
    jobset: Option<JobSet>,
    deleted: Option<JobSet>,
    seen: Instant,
) -> Result<Facts<'a>, Error> {
    let (key, job) = (fetched.key, fetched.job);
    let built = jobset.is_some() || deleted.is_some();
    let observed = Observed {
        snapshot: if built { snapshot(ctx, key).await? } else { None },
        jobset,
        deleted,
    };
    let runtime = if observed.needs_runtime() {
        ctx.runtime_cache.runtime(&ctx.client, key, job, seen).await?
    } else {
        None
    };
    let resolved = plan::resolve(Inputs {
        job,
        runtime,
        config: &ctx.config,
        observed,
    })
    .map_err(Error::Refused)?;
    let required = resolved.required_facts();
    let cluster = ctx.gang_facts.observe(&ctx.client, key, job, required).await?;
    Ok(Facts { resolved, cluster })
}

/// Reads the snapshot of a job's runtime.
pub(crate) async fn snapshot(ctx: &Context, key: &Key) -> Result<Option<ConfigMap>, Error> {
    let name = format!("{}{}", key.name, names::SNAPSHOT_SUFFIX);
    let found = ctx.api::<ConfigMap>(key).get_opt(&name).await;
    found.doing(|| format!("get ConfigMap {name}"))
}
