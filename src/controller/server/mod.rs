//! The HTTP endpoints: `/healthz`, `/readyz` and `/metrics`.
//!
//! No client. Liveness says that the program runs. Readiness says that all watches are complete, or that a kind is
//! not installed: the controller starts to work as soon as it is.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::State as Shared;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use crate::api::{TrainJob, names};
use crate::controller::cache::watch::State;
use crate::controller::context::Context;
use crate::controller::options::BindAddress;

/// Serves liveness and readiness.
pub(crate) async fn health(address: &BindAddress, ctx: Arc<Context>) -> io::Result<()> {
    let routes = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready));
    serve(address, routes.with_state(ctx)).await
}

/// Serves metrics.
pub(crate) async fn metrics(address: &BindAddress, ctx: Arc<Context>) -> io::Result<()> {
    serve(
        address,
        Router::new().route("/metrics", get(numbers)).with_state(ctx),
    )
    .await
}

async fn serve(address: &BindAddress, routes: Router) -> io::Result<()> {
    let Some(address) = &address.0 else {
        return std::future::pending().await;
    };
    // Nodes without IPv6 have no [::].
    let listener = match TcpListener::bind(address).await {
        Err(_) if address.starts_with("[::]:") => {
            TcpListener::bind(address.replacen("[::]", "0.0.0.0", 1)).await
        }
        other => other,
    }
    .map_err(|error| io::Error::new(error.kind(), format!("cannot listen on {address}: {error}")))?;
    axum::serve(listener, routes).await
}

async fn ready(Shared(ctx): Shared<Arc<Context>>) -> (StatusCode, String) {
    let (mut ready, mut text) = (true, String::new());
    for (kind, state) in ctx.watch_states() {
        let says = match state {
            State::Listed => "watching".to_owned(),
            State::KindMissing => "not installed; work starts once it is".to_owned(),
            State::Starting => "starting".to_owned(),
            State::Failing(why) => format!("failing: {why}"),
        };
        ready &= says.starts_with("watching") || says.starts_with("not installed");
        text = format!("{text}{kind}: {says}\n");
    }
    (
        if ready {
            StatusCode::OK
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        },
        text,
    )
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
