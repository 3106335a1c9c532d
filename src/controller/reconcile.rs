//! Brings one job to where it should be: five steps, each its own file.
//!
//! Decides nothing. What a step may touch stands at the top of its file. A reconcile runs in a task of its own:
//! when it panics or hangs, only its job waits.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::runtime::controller::Action;
use kube::runtime::reflector::ObjectRef;
use tracing::Instrument;

use super::apply::apply;
use super::context::{Context, Guarded, Key};
use super::decide::decide;
use super::error::{Class, Error};
use super::events::Note;
use super::fetch::{fetch, unreadable};
use super::queue::Lane;
use super::record::record;
use crate::api::TrainJob;
use crate::status::{Build, Due, Seen, observe};

/// The longest time that one reconcile may take.
const LIMIT: Duration = Duration::from_secs(60);

/// How a reconcile went, and when to come back although nothing changes.
#[derive(Default)]
struct Done {
    error: Option<Error>,
    look_again: Option<Duration>,
}

impl From<Error> for Done {
    fn from(error: Error) -> Self {
        Self {
            error: Some(error),
            ..Self::default()
        }
    }
}

/// Reconciles a job, isolated from all others, counts and reports how it went, and says when to come back: no later
/// than the job's deadline, also after an error.
pub(super) async fn run(job: Arc<Guarded<TrainJob>>, ctx: Arc<Context>) -> Result<Action, Infallible> {
    let key = ObjectRef::from_obj(&*job);
    let seen = ctx.queue.begin(&key);
    let job = ctx.written_jobs.newest(&key, Some(job.clone())).unwrap_or(job);
    let span = tracing::info_span!("reconcile", namespace = key.namespace, trainjob = key.name);
    let started = Instant::now();
    let Done { error, look_again } =
        isolated(job.clone(), key.clone(), seen, ctx.clone(), span.clone()).await;
    ctx.queue.end(&key);
    let class = error.as_ref().map(|e| e.class().label());
    ctx.metrics.reconciled(class, started.elapsed());
    let retry = match &error {
        None => {
            ctx.retries.forget(&key);
            None
        }
        Some(error) => {
            span.in_scope(|| report(&ctx, &key, &job, error));
            ctx.retries.after(&key, error)
        }
    };
    let next = retry.into_iter().chain(look_again).min();
    Ok(next.map_or_else(Action::await_change, Action::requeue))
}

/// Runs a reconcile in its own task.
async fn isolated(
    job: Arc<Guarded<TrainJob>>,
    key: Key,
    seen: Instant,
    ctx: Arc<Context>,
    span: tracing::Span,
) -> Done {
    let mut task = tokio::spawn(async move { reconcile(&ctx, &key, &job, seen).await }.instrument(span));
    let Ok(joined) = tokio::time::timeout(LIMIT, &mut task).await else {
        task.abort();
        // It must have ended before the job may be reconciled again.
        let _ = task.await;
        return Error::TimedOut(LIMIT).into();
    };
    joined
        .unwrap_or_else(|panic| Err(Error::Panicked(panic.to_string())))
        .unwrap_or_else(Done::from)
}

/// The five steps. A build that fails does not keep the status from following.
async fn reconcile(ctx: &Context, key: &Key, job: &Guarded<TrainJob>, seen: Instant) -> Result<Done, Error> {
    let job = match &job.0 {
        Ok(job) => job,
        Err(broken) => return Err(unreadable(ctx, key, &broken.error).await),
    };
    let mut fetched = fetch(ctx, key, job, seen).await?;
    if fetched.due == Due::Nothing {
        return Ok(Done::default());
    }
    let decision = decide(&ctx.config, &mut fetched);
    let applied = apply(ctx, &fetched, decision).await;
    if applied.changed && ctx.queue.is_urgent() {
        // Jobs that have no JobSet yet go before the status of one that just got it.
        ctx.queue.add(key.clone(), Lane::Follow);
        return Ok(Done::default());
    }
    let why = applied.error.as_ref().map(Error::text);
    let jobset = applied.jobset.as_ref().and_then(|j| j.0.as_ref().ok());
    let outcome = observe(&Seen {
        job,
        jobset,
        build: build(applied.error.as_ref(), why.as_deref(), applied.done),
        now: fetched.now,
    });
    record(ctx, key, job, jobset, &outcome).await?;
    Ok(Done {
        error: applied.error,
        look_again: outcome.look_again,
    })
}

fn build<'a>(error: Option<&Error>, why: Option<&'a str>, done: bool) -> Build<'a> {
    match (error.map(Error::class), why) {
        (Some(Class::Impossible), Some(message)) => Build::Impossible {
            reason: error.map_or_else(Default::default, Error::reason),
            message,
        },
        (Some(class), Some(why)) if class.concerns_author() => Build::Failed(why),
        (None, _) if done => Build::Done,
        _ => Build::Skipped,
    }
}

/// Tells the author of the job what went wrong, if it is theirs to know or lasts, and the log once.
fn report(ctx: &Context, key: &Key, job: &Guarded<TrainJob>, error: &Error) {
    let (class, text) = (error.class(), error.text());
    let lasts = class == Class::Unavailable && ctx.retries.count(key) >= 5;
    if class.concerns_author() || lasts {
        ctx.events.send(Note::failure(job, &text));
    }
    match class {
        _ if ctx.retries.repeats(key, &text) => {
            tracing::debug!(class = class.label(), error = text, "reconcile failed again");
        }
        Class::Conflict | Class::Leaving => {
            tracing::debug!(class = class.label(), error = text, "reconcile failed");
        }
        Class::Internal => tracing::error!(class = class.label(), error = text, "reconcile failed"),
        _ => tracing::warn!(class = class.label(), error = text, "reconcile failed"),
    }
}
