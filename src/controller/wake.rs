//! Which jobs an event of a watch wakes.
//!
//! No client. A job or its JobSet wakes that job; a runtime wakes the jobs that name it and have no JobSet, as nothing
//! of it matters to the others.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::api::core::v1::LimitRange;
use k8s_openapi::api::node::v1::RuntimeClass;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};
use tokio::sync::mpsc;

use super::cache::watch::State;
use super::context::Context;
use super::finalizers::Leftover;
use super::key::{Guarded, Key, key_of, stored};
use super::queue::Priority;
use crate::api::{JobSet, TrainJob};
use crate::plan::RuntimeKind;

/// A TrainJob came, changed or went.
pub(crate) fn job(ctx: &Context, event: &Event<Guarded<TrainJob>>) {
    match event {
        Event::Apply(job) => wake(ctx, job),
        Event::Delete(job) => ctx.forget(&ObjectRef::from_obj(job)),
        // The store has a new list only when it is complete, and what changed meanwhile sends no event of its own.
        Event::Init | Event::InitApply(_) => {}
        Event::InitDone => {
            ctx.written_jobs.clear();
            wake_all(ctx);
        }
    }
}

/// A JobSet came, changed or went.
pub(crate) fn jobset(ctx: &Context, event: &Event<Guarded<JobSet>>) {
    let wake_owner = |jobset: &Guarded<JobSet>| {
        if let Some(job) = stored(&ctx.jobs.store, &key_of(jobset)) {
            wake(ctx, &job);
        }
    };
    match event {
        Event::Apply(jobset) => wake_owner(jobset),
        Event::Delete(jobset) => {
            ctx.written_jobsets.gone(&key_of(jobset), jobset);
            keep_last_state(ctx, jobset);
            wake_owner(jobset);
        }
        Event::Init | Event::InitApply(_) => {}
        // JobSets that are gone since the last list send no event of their own; and jobs that waited for the kind
        // are to be built now.
        Event::InitDone => {
            ctx.written_jobsets.clear();
            wake_all(ctx);
        }
    }
}

/// Keeps the last state of a deleted JobSet if its TrainJob stays: whether it had ended decides what becomes of the job.
fn keep_last_state(ctx: &Context, jobset: &Guarded<JobSet>) {
    let key = key_of(jobset);
    let job = stored(&ctx.jobs.store, &key);
    let job = job.as_ref().and_then(|job| job.0.as_ref().ok());
    if let (Some(job), Ok(jobset)) = (job, &jobset.0)
        && job.controls(&jobset.metadata)
        && job.metadata.deletion_timestamp.is_none()
        && !job.finished()
    {
        ctx.deleted_jobsets.put(key, jobset.clone());
    }
}

/// A runtime came or changed: jobs may wait for it, and it may carry an old finalizer.
pub(crate) fn runtime<K>(
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
            && stored(&ctx.jobsets.store, &key_of_job(job)).is_none()
    });
}

fn key_of_job(job: &TrainJob) -> Key {
    let mut key = Key::new(job.name());
    key.namespace.clone_from(&job.metadata.namespace);
    key
}

/// Wakes all jobs, also those that cannot be read: their authors must know.
fn wake_all(ctx: &Context) {
    for job in ctx.jobs.store.state() {
        wake(ctx, &job);
    }
}

fn wake_where(ctx: &Context, wanted: impl Fn(&TrainJob) -> bool) {
    for guarded in ctx.jobs.store.state() {
        if guarded.0.as_ref().is_ok_and(&wanted) {
            wake(ctx, &guarded);
        }
    }
}

/// Lets a job wait.
pub(crate) fn wake(ctx: &Context, job: &Guarded<TrainJob>) {
    let key = ObjectRef::from_obj(job);
    let priority = priority(ctx, &key, job);
    ctx.queue.add(key, priority);
}

/// Judges, from what is in memory, whether a job waits for its objects.
pub(crate) fn priority(ctx: &Context, key: &Key, job: &Guarded<TrainJob>) -> Priority {
    let Ok(job) = &job.0 else { return Priority::Status };
    if job.finished() || job.metadata.deletion_timestamp.is_some() || !job.is_ours() {
        return Priority::Status;
    }
    let built = match ctx.jobset(key) {
        Some(jobset) => jobset.0.as_ref().is_ok_and(|j| j.suspended() == job.suspended()),
        None if ctx.jobsets.state() == State::Listed => false,
        // After a restart: a job that has a status was built before.
        None => job.status.is_some(),
    };
    if built { Priority::Status } else { Priority::Build }
}

/// A LimitRange changed.
pub(crate) fn limit_range(ctx: &Context, event: &Event<Guarded<LimitRange>>) {
    on_change(ctx, event, |range, key, _| range.namespace() == key.namespace);
}

/// A RuntimeClass changed.
pub(crate) fn runtime_class(ctx: &Context, event: &Event<Guarded<RuntimeClass>>) {
    on_change(ctx, event, |class, _, classes| {
        classes.contains(&class.name_any())
    });
}

/// Wakes the jobs that depend on an object that changed. After a list it is not known what changed.
fn on_change<K>(ctx: &Context, event: &Event<K>, depends: impl Fn(&K, &Key, &BTreeSet<String>) -> bool) {
    let keys = match event {
        Event::Apply(object) | Event::Delete(object) => ctx
            .gang_facts
            .dependants(|key, classes| depends(object, key, classes)),
        Event::InitDone => ctx.gang_facts.dependants(|_, _| true),
        Event::Init | Event::InitApply(_) => return,
    };
    for key in keys {
        ctx.compared.forget(&key);
        ctx.queue.add(key, Priority::Status);
    }
}

/// Notes what a watch brings, for a context that is shared.
pub(crate) fn shared<E, F: Fn(&Context, &E) + Send>(
    ctx: &Arc<Context>,
    on: F,
) -> impl Fn(&E) + Send + use<E, F> {
    let ctx = ctx.clone();
    move |event| on(&ctx, event)
}
