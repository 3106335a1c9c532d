//! `/metrics`.
//!
//! No client.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::State as Shared;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::get;

use super::listen::serve;
use crate::api::{TrainJob, names};
use crate::controller::context::Context;
use crate::controller::options::BindAddress;

/// Serves metrics.
pub(crate) async fn run(address: &BindAddress, ctx: Arc<Context>) -> io::Result<()> {
    serve(
        address,
        Router::new().route("/metrics", get(numbers)).with_state(ctx),
    )
    .await
}

async fn numbers(Shared(ctx): Shared<Arc<Context>>) -> impl IntoResponse {
    ctx.metrics.states(count(&ctx));
    (
        [(
            header::CONTENT_TYPE,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        )],
        ctx.metrics.text(),
    )
}

/// Counts the jobs of this controller by state; every state is always there.
fn count(ctx: &Context) -> [(&'static str, usize); 5] {
    let mut counts = [
        ("active", 0),
        ("suspended", 0),
        ("complete", 0),
        ("failed", 0),
        ("stalled", 0),
    ];
    for job in ctx.jobs.store.state() {
        let Ok(job) = &job.0 else { continue };
        let state = state(job);
        if let Some((_, count)) = counts
            .iter_mut()
            .find(|(name, _)| job.is_ours() && *name == state)
        {
            *count += 1;
        }
    }
    counts
}

fn state(job: &TrainJob) -> &'static str {
    let states = [
        (names::condition::COMPLETE, "complete"),
        (names::condition::FAILED, "failed"),
        (names::condition::STALLED, "stalled"),
        (names::condition::SUSPENDED, "suspended"),
    ];
    states
        .into_iter()
        .find(|(kind, _)| job.has(kind))
        .map_or("active", |(_, state)| state)
}
