//! First step: what there is.
//!
//! Client. Reads from memory what a watch has brought, and from the API server only what a build needs: the JobSet
//! as it is now, the snapshot, and the runtime where there is none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::{ApiResource, DynamicObject};
use kube::{Api, ResourceExt};

use super::context::{Context, Guarded, Key};
use super::error::{Doing, Error, kind_missing, not_found};
use super::watch::State;
use crate::api::{JobSet, TrainJob, names};
use crate::plan::{self, Inputs, Observed, Runtime, Served};
use crate::status::{Due, due, own_jobset};

/// What there is of a job.
pub(super) struct Fetched<'a> {
    /// Where the job is.
    pub key: &'a Key,
    /// The job.
    pub job: &'a TrainJob,
    /// Its own JobSet; whole only when a build is due.
    pub jobset: Option<Arc<Guarded<JobSet>>>,
    /// How much is to be done.
    pub due: Due,
    /// Whether this looks like the first build, so that no snapshot was looked for. Where there is one all the same,
    /// its creation conflicts, and the next try reads it.
    pub first: bool,
    /// What a build needs, or why it cannot be known.
    pub facts: Result<Facts, Error>,
    /// When all this was read.
    pub now: Timestamp,
}

/// What a build needs besides job and JobSet.
#[derive(Default)]
pub(super) struct Facts {
    /// The runtime, unless a snapshot stands for it.
    pub runtime: Option<Arc<Runtime>>,
    /// Facts of the cluster, without the JobSet.
    pub observed: Observed,
}

impl Fetched<'_> {
    /// How long ago the job was created.
    pub(super) fn age(&self) -> Duration {
        let created = self.job.metadata.creation_timestamp.as_ref();
        created
            .and_then(|created| Duration::try_from(self.now.duration_since(created.0)).ok())
            .unwrap_or_default()
    }

    /// The JobSet, if it can be read.
    pub(super) fn jobset(&self) -> Option<&JobSet> {
        self.jobset.as_ref().and_then(|j| j.0.as_ref().ok())
    }
}

/// Reads what there is of a job, which was `seen` then.
pub(super) async fn fetch<'a>(
    ctx: &Context,
    key: &'a Key,
    job: &'a TrainJob,
    seen: Instant,
) -> Result<Fetched<'a>, Error> {
    let mut fetched = Fetched {
        key,
        job,
        jobset: None,
        due: due(job, None, Timestamp::now()),
        first: false,
        facts: Ok(Facts::default()),
        now: Timestamp::now(),
    };
    if fetched.due == Due::Nothing {
        return Ok(fetched);
    }
    match jobset(ctx, key, job).await {
        Ok(jobset) => fetched.jobset = jobset,
        Err(error @ Error::KindMissing { .. }) => {
            fetched.facts = Err(error);
            return Ok(fetched);
        }
        Err(error) => return Err(error),
    }
    fetched.due = due(job, fetched.jobset(), fetched.now);
    if let (Due::Build, Some(jobset)) = (fetched.due, fetched.jobset()) {
        if ctx.compared.known(key, job, jobset) {
            fetched.due = Due::Observe;
        } else {
            fetched.jobset = live_jobset(ctx, key, job).await?;
            fetched.due = due(job, fetched.jobset(), fetched.now);
        }
    }
    if fetched.due == Due::Build {
        let tried = job.status.is_some() || ctx.retries.count(key) > 0;
        fetched.first = fetched.jobset.is_none() && !tried;
        fetched.facts = facts(ctx, key, job, fetched.first, seen).await;
    }
    Ok(fetched)
}

/// Says what in a stored object is not as its type wants it, with the path of the field: the watch does not keep it.
pub(super) async fn unreadable(ctx: &Context, key: &Key, what: &str) -> Error {
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

/// Finds the job's own JobSet; one of the same name that belongs to someone else counts as none.
async fn jobset(ctx: &Context, key: &Key, job: &TrainJob) -> Result<Option<Arc<Guarded<JobSet>>>, Error> {
    if ctx.jobsets.state() != State::Listed {
        return live_jobset(ctx, key, job).await;
    }
    own(job, ctx.jobset(key))
}

async fn live_jobset(
    ctx: &Context,
    key: &Key,
    job: &TrainJob,
) -> Result<Option<Arc<Guarded<JobSet>>>, Error> {
    match ctx.api::<Guarded<JobSet>>(key).get(&key.name).await {
        Ok(jobset) => own(job, Some(Arc::new(jobset))),
        Err(error) if kind_missing(&error) => Err(Error::KindMissing {
            kind: names::JOBSET.to_owned(),
            api_version: names::JOBSET_API_VERSION.to_owned(),
            served: Served::Whole,
        }),
        Err(error) if not_found(&error) => Ok(None),
        Err(error) => Err(error).doing(|| format!("get JobSet {}", key.name)),
    }
}

/// Keeps a JobSet if it is the job's own and can be read.
fn own(job: &TrainJob, jobset: Option<Arc<Guarded<JobSet>>>) -> Result<Option<Arc<Guarded<JobSet>>>, Error> {
    let Some(guarded) = jobset else { return Ok(None) };
    let own = match &guarded.0 {
        Ok(jobset) => own_jobset(job, jobset).is_some(),
        Err(broken) if job.controls(&broken.metadata) => {
            return Err(Error::UnreadableOther {
                what: format!("JobSet {}", guarded.name_any()),
                why: broken.error.clone(),
            });
        }
        Err(_) => false,
    };
    Ok(own.then_some(guarded))
}

async fn facts(ctx: &Context, key: &Key, job: &TrainJob, first: bool, seen: Instant) -> Result<Facts, Error> {
    let live = async || ctx.live.runtime(&ctx.client, key, job, seen).await;
    let runtime = if first { live().await? } else { None };
    let (snapshot, runtime) = match runtime {
        Some(runtime) => (None, Some(runtime)),
        None => match snapshot(ctx, key).await? {
            Some(snapshot) => (Some(snapshot), None),
            None => (None, live().await?),
        },
    };
    let mut observed = Observed {
        snapshot,
        ..Observed::default()
    };
    let needed = plan::needed(&Inputs {
        job,
        runtime: runtime.as_deref(),
        config: &ctx.config,
        observed: &observed,
    });
    ctx.gangs
        .observe(&ctx.client, key, job, &needed, &mut observed)
        .await?;
    Ok(Facts { runtime, observed })
}

async fn snapshot(ctx: &Context, key: &Key) -> Result<Option<ConfigMap>, Error> {
    let name = format!("{}{}", key.name, names::SNAPSHOT_SUFFIX);
    let found = ctx.api::<ConfigMap>(key).get_opt(&name).await;
    found.doing(|| format!("get ConfigMap {name}"))
}
