//! Brings one job to where it should be: five steps, each its own file.
//!
//! Decides nothing. What a step may touch stands at the top of its file. A reconcile runs in a task of its own:
//! when it panics or hangs, only its job waits.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::ResourceExt;
use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use tracing::Instrument;

use super::apply::apply;
use super::context::{Context, Guarded, Key};
use super::decide::decide;
use super::error::{Class, Error};
use super::events::Note;
use super::fetch::{fetch, unreadable};
use super::record::record;
use crate::api::TrainJob;
use crate::status::{Build, Due, Seen, observe};

/// The longest time that one reconcile may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Reconciles a job, isolated from all others, and counts and reports how it went.
pub(super) async fn run(job: Arc<Guarded<TrainJob>>, ctx: Arc<Context>) -> Result<Action, Error> {
    let key = ObjectRef::from_obj(&*job);
    ctx.queue.begin(&key);
    let job = ctx.written_jobs.newest(&key, Some(job.clone())).unwrap_or(job);
    let span = tracing::info_span!("reconcile", namespace = key.namespace, trainjob = key.name);
    let started = Instant::now();
    let result = isolated(job.clone(), key.clone(), ctx.clone(), span.clone()).await;
    ctx.metrics.reconciled(
        result.as_ref().err().map(|e| e.class().label()),
        started.elapsed(),
    );
    match &result {
        Ok(_) => ctx.retries.forget(&key),
        Err(error) => span.in_scope(|| report(&ctx, &key, &job, error)),
    }
    result.map(|again| again.map_or_else(Action::await_change, Action::requeue))
}

/// Runs a reconcile in its own task.
async fn isolated(
    job: Arc<Guarded<TrainJob>>,
    key: Key,
    ctx: Arc<Context>,
    span: tracing::Span,
) -> Result<Option<Duration>, Error> {
    let mut task = tokio::spawn(async move { reconcile(&ctx, &key, &job).await }.instrument(span));
    let Ok(joined) = tokio::time::timeout(LIMIT, &mut task).await else {
        task.abort();
        // It must have ended before the job may be reconciled again.
        let _ = task.await;
        return Err(Error::TimedOut(LIMIT));
    };
    joined.unwrap_or_else(|error| Err(Error::Panicked(error.to_string())))
}

/// The five steps. Tells when to come back although nothing changes.
async fn reconcile(ctx: &Context, key: &Key, job: &Guarded<TrainJob>) -> Result<Option<Duration>, Error> {
    let job = match &job.0 {
        Ok(job) => job,
        Err(broken) => return Err(unreadable(ctx, key, &broken.error).await),
    };
    let mut fetched = fetch(ctx, key, job).await?;
    if fetched.due == Due::Nothing {
        return Ok(None);
    }
    let decision = decide(&mut fetched);
    let applied = apply(ctx, &fetched, decision).await;
    let why = applied.error.as_ref().map(Error::text);
    let jobset = applied.jobset.as_ref().and_then(|j| j.0.as_ref().ok());
    let outcome = observe(&Seen {
        job,
        jobset,
        build: build(applied.error.as_ref(), why.as_deref(), applied.done),
        now: fetched.now,
    });
    record(ctx, key, job, jobset, &outcome).await?;
    applied.error.map_or(Ok(outcome.look_again), Err)
}

fn build<'a>(error: Option<&Error>, why: Option<&'a str>, done: bool) -> Build<'a> {
    match (error.map(Error::class), why) {
        (Some(Class::Impossible), Some(why)) => Build::Impossible(why),
        (Some(class), Some(why)) if class.concerns_author() => Build::Failed(why),
        (None, _) if done => Build::Done,
        _ => Build::Skipped,
    }
}

/// Tells the author of the job what went wrong, if it is theirs to know or lasts.
fn report(ctx: &Context, key: &Key, job: &Guarded<TrainJob>, error: &Error) {
    let (class, text) = (error.class(), error.text());
    let lasts = class == Class::Unavailable && ctx.retries.count(key) >= 5;
    if class.concerns_author() || lasts {
        ctx.events.send(Note::failure(job, &text));
    }
    match class {
        Class::Conflict | Class::Leaving => {
            tracing::debug!(class = class.label(), error = text, "reconcile failed");
        }
        Class::Internal => tracing::error!(class = class.label(), error = text, "reconcile failed"),
        _ => tracing::warn!(class = class.label(), error = text, "reconcile failed"),
    }
}

/// Says when a job that failed is tried again.
pub(super) fn retry(job: Arc<Guarded<TrainJob>>, error: &Error, ctx: Arc<Context>) -> Action {
    let key = ObjectRef::from_obj(&*job);
    tracing::debug!(trainjob = job.name_any(), "will be tried again");
    ctx.retries
        .after(&key, error)
        .map_or_else(Action::await_change, Action::requeue)
}
