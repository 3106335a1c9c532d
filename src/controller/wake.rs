//! Which jobs an event of a watch wakes.
//!
//! No client. A job or its JobSet wakes that job; a runtime wakes the jobs that name it and have no JobSet, as nothing
//! of it matters to the others.

use std::hash::Hash;
use std::sync::Arc;

use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};
use tokio::sync::mpsc;

use super::context::{Context, Guarded, Key, stored};
use super::finalizers::Leftover;
use super::queue::Lane;
use super::watch::State;
use crate::api::{JobSet, TrainJob};
use crate::plan::RuntimeKind;

/// A TrainJob came, changed or went.
pub(super) fn job(ctx: &Context, event: &Event<Guarded<TrainJob>>) {
    match event {
        Event::Apply(job) | Event::InitApply(job) => wake(ctx, job),
        Event::Delete(job) => ctx.forget(&ObjectRef::from_obj(job)),
        Event::Init => ctx.written_jobs.clear(),
        Event::InitDone => {}
    }
}

/// A JobSet came, changed or went.
pub(super) fn jobset(ctx: &Context, event: &Event<Guarded<JobSet>>) {
    let wake_owner = |jobset: &Guarded<JobSet>| {
        let key = key_of(jobset);
        if let Some(job) = stored(&ctx.jobs.store, key.namespace.as_deref(), &key.name) {
            wake(ctx, &job);
        }
    };
    match event {
        Event::Apply(jobset) | Event::InitApply(jobset) => wake_owner(jobset),
        Event::Delete(jobset) => {
            ctx.written_jobsets.gone(&key_of(jobset), jobset);
            keep_last_state(ctx, jobset);
            wake_owner(jobset);
        }
        Event::Init => ctx.written_jobsets.clear(),
        // JobSets that are gone since the last list send no event of their own; and jobs that waited for the kind
        // are to be built now.
        Event::InitDone => wake_where(ctx, |_| true),
    }
}

/// Keeps the last state of a deleted JobSet if its TrainJob stays: whether it had ended decides what becomes of the job.
fn keep_last_state(ctx: &Context, jobset: &Guarded<JobSet>) {
    let key = key_of(jobset);
    let job = stored(&ctx.jobs.store, key.namespace.as_deref(), &key.name);
    let job = job.as_ref().and_then(|job| job.0.as_ref().ok());
    if let (Some(job), Ok(jobset)) = (job, &jobset.0)
        && job.controls(&jobset.metadata)
        && job.metadata.deletion_timestamp.is_none()
        && !job.finished()
    {
        ctx.deleted.put(key, jobset.clone());
    }
}

/// A runtime came or changed: jobs may wait for it, and it may carry an old finalizer.
pub(super) fn runtime<K>(
    ctx: &Context,
    leftovers: &mpsc::UnboundedSender<Leftover>,
    kind: RuntimeKind,
    event: &Event<Guarded<K>>,
) where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    let (Event::Apply(runtime) | Event::InitApply(runtime)) = event else {
        return;
    };
    if let Some(leftover) = Leftover::in_metadata(kind, runtime.meta()) {
        // Without a receiver the controller is about to end.
        let _ = leftovers.send(leftover);
    }
    let (namespace, name) = (runtime.namespace(), runtime.name_any());
    wake_where(ctx, |job| {
        let reference = &job.spec.runtime_ref;
        RuntimeKind::of(reference) == Some(kind)
            && reference.name == name
            && (kind == RuntimeKind::Cluster || job.metadata.namespace == namespace)
            && !job.finished()
            && stored(
                &ctx.jobsets.store,
                job.metadata.namespace.as_deref(),
                &job.name_any(),
            )
            .is_none()
    });
}

fn wake_where(ctx: &Context, wanted: impl Fn(&TrainJob) -> bool) {
    for guarded in ctx.jobs.store.state() {
        if guarded.0.as_ref().is_ok_and(&wanted) {
            wake(ctx, &guarded);
        }
    }
}

/// Lets a job wait.
pub(super) fn wake(ctx: &Context, job: &Guarded<TrainJob>) {
    let key = ObjectRef::from_obj(job);
    let lane = lane(ctx, &key, job);
    ctx.queue.add(key, lane);
}

/// Judges, from what is in memory, whether a job waits for its objects.
fn lane(ctx: &Context, key: &Key, job: &Guarded<TrainJob>) -> Lane {
    let Ok(job) = &job.0 else { return Lane::Follow };
    if job.finished() || job.metadata.deletion_timestamp.is_some() || !job.is_ours() {
        return Lane::Follow;
    }
    let built = match ctx.jobset(key) {
        Some(jobset) => jobset.0.as_ref().is_ok_and(|j| j.suspended() == job.suspended()),
        None if ctx.jobsets.state() == State::Listed => false,
        // After a restart: a job that has a status was built before.
        None => job.status.is_some(),
    };
    if built { Lane::Follow } else { Lane::Build }
}

/// The job of a JobSet has its name.
fn key_of<K>(object: &Guarded<K>) -> Key
where
    K: Resource<DynamicType = ()>,
    K::DynamicType: Eq + Hash,
{
    let mut key = Key::new(&object.name_any());
    key.namespace = object.namespace();
    key
}

/// Notes what a watch brings, for a context that is shared.
pub(super) fn shared<E, F: Fn(&Context, &E) + Send>(
    ctx: &Arc<Context>,
    on: F,
) -> impl Fn(&E) + Send + use<E, F> {
    let ctx = ctx.clone();
    move |event| on(&ctx, event)
}
