//! `/healthz` and `/readyz`.
//!
//! No client. Liveness says that the program runs. Readiness says that all watches are complete, or that a kind is
//! not installed: the controller starts to work as soon as it is.

use std::io;
use std::sync::Arc;

use axum::Router;
use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::routing::get;

use super::listen::serve;
use crate::controller::cache::watch::State;
use crate::controller::context::Context;
use crate::controller::options::BindAddress;

/// Serves liveness and readiness.
pub(crate) async fn run(address: &BindAddress, ctx: Arc<Context>) -> io::Result<()> {
    let routes = Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready));
    serve(address, routes.with_state(ctx)).await
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
