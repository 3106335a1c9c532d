//! Brings one job to where it should be: five steps, each its own file.
//!
//! Decides nothing. The top of each file says what its step may touch. A reconcile runs in a task of its own: if it panics
//! or hangs, only its job waits.

mod apply;
mod decide;
mod fetch;
mod keys;
mod objects;
mod update_status;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tracing::Instrument;

use super::context::Context;
use super::error::{Class, Error};
use super::events::Note;
use super::key::{Guarded, Key};
use super::queue::Priority;
use super::wake;
use crate::api::TrainJob;
use crate::status::{Build, Due, StatusInputs, observe};
use apply::{Applied, Progress, apply};
use decide::decide;
use fetch::{fetch, unreadable};
use update_status::update_status;

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

/// When a job is to come back although nothing changes.
pub(crate) struct Next {
    pub(crate) delay: Duration,
    pub(crate) priority: Priority,
}

/// Reconciles a job, isolated from all others, counts and reports how it went, and returns when it is to come back: no
/// later than at its deadline, also after an error. `seen` is when it began to wait.
pub(crate) async fn run(
    ctx: &Arc<Context>,
    key: &Key,
    job: Arc<Guarded<TrainJob>>,
    seen: Instant,
) -> Option<Next> {
    let span = tracing::info_span!("reconcile", namespace = key.namespace, trainjob = key.name);
    let started = Instant::now();
    let Done { error, look_again } =
        isolated(job.clone(), key.clone(), seen, ctx.clone(), span.clone()).await;
    let class = error.as_ref().map(|e| e.class().label());
    ctx.metrics.reconciled(class, started.elapsed());
    let retry = match &error {
        None => {
            ctx.backoff.forget(key);
            None
        }
        Some(error) => {
            span.in_scope(|| report(ctx, key, &job, error));
            ctx.backoff.after(key, error)
        }
    };
    let delay = retry.into_iter().chain(look_again).min()?;
    Some(Next {
        delay,
        priority: wake::priority(ctx, key, &job),
    })
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
        .unwrap_or_else(|panic| Err(Error::Internal(panic.to_string())))
        .unwrap_or_else(Done::from)
}

/// The five steps. A build that fails does not keep the status from following.
async fn reconcile(ctx: &Context, key: &Key, job: &Guarded<TrainJob>, seen: Instant) -> Result<Done, Error> {
    let job = match &job.0 {
        Ok(job) => job,
        Err(broken) => return Err(unreadable(ctx, key, &broken.error).await),
    };
    let (fetched, facts) = fetch(ctx, key, job, seen).await?;
    if fetched.due == Due::Nothing {
        return Ok(Done::default());
    }
    let decision = decide(&fetched, facts);
    let Applied { jobset, result } = apply(ctx, &fetched, decision).await;
    if matches!(result, Ok(Progress::Changed)) && ctx.queue.has_builds() {
        // Jobs that have no JobSet yet precede the status of one that just got it.
        ctx.queue.add(key.clone(), Priority::Status);
        return Ok(Done::default());
    }
    let why = result.as_ref().err().map(Error::text);
    let jobset = jobset.as_ref().and_then(|j| j.0.as_ref().ok());
    let outcome = observe(&StatusInputs {
        job,
        jobset,
        build: build(&result, why.as_deref().unwrap_or_default()),
        now: fetched.now,
    });
    let written = update_status(ctx, key, job, jobset, &outcome).await;
    Ok(Done {
        error: result.err().or(written.err()),
        look_again: outcome.look_again,
    })
}

/// Sorts how a build went for the status; `text` says what went wrong.
fn build<'a>(result: &Result<Progress, Error>, text: &'a str) -> Build<'a> {
    match result {
        Ok(Progress::Left) => Build::Skipped,
        Ok(Progress::Unchanged | Progress::Changed) => Build::Done,
        Err(error) => match error.class() {
            Class::Impossible => Build::Impossible {
                reason: error.reason(),
                message: text,
            },
            class if class.concerns_author() => Build::Failed(text),
            _ => Build::Skipped,
        },
    }
}

/// Sends an Event to the author of the job if the error is about the job, or lasts; logs the error once.
fn report(ctx: &Context, key: &Key, job: &Guarded<TrainJob>, error: &Error) {
    let (class, text) = (error.class(), error.text());
    let lasts = class == Class::Unavailable && ctx.backoff.count(key) >= 5;
    if class.concerns_author() || lasts {
        ctx.events.send(Note::failure(job, &text));
    }
    match class {
        _ if ctx.backoff.repeats(key, &text) => {
            tracing::debug!(class = class.label(), error = text, "reconcile failed again");
        }
        Class::Conflict | Class::Leaving => {
            tracing::debug!(class = class.label(), error = text, "reconcile failed");
        }
        Class::Internal => tracing::error!(class = class.label(), error = text, "reconcile failed"),
        _ => tracing::warn!(class = class.label(), error = text, "reconcile failed"),
    }
}
