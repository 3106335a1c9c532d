//! The controller: the only module with a client, an async runtime and a clock.
//!
//! It decides nothing. Watches fill `cache/` and put jobs into `queue/` (`wake`); each job is reconciled in five steps, each
//! its own file of `reconcile/`. `supervisor` starts all of it. Deliberately absent: watches of ConfigMaps and Secrets, and
//! finalizers.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the controller has a clock, files, a network and caches whose order does not matter"
)]

mod cache;
mod client;
mod clock;
mod context;
mod error;
mod events;
mod failure;
mod finalizers;
mod installer;
mod key;
mod metrics;
mod options;
mod queue;
mod reconcile;
mod server;
mod supervisor;
mod wake;
mod worker;

use std::io::{self, IsTerminal};

use tokio::signal::unix::{SignalKind, signal};
use tracing_subscriber::EnvFilter;

pub use clock::Clock;
pub use failure::Failure;
pub use installer::Runtimes;
pub use options::{BindAddress, LogFormat, Options};
pub use supervisor::Controller;

use client::throttle::Throttle;
use metrics::Metrics;

/// What the client library says of each failed request, watch and reconcile; this program says it better itself.
const QUIET: &str = "kube_client::client::builder=off,kube_runtime::controller=off,kube_runtime::watcher=off";

/// Runs the controller until a signal ends it.
pub fn run(options: &Options) -> Result<(), Failure> {
    log(options)?;
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(run_until_signal(options))
}

fn log(options: &Options) -> Result<(), Failure> {
    let filter = EnvFilter::try_new(format!("{QUIET},{}", options.log_level))
        .map_err(|_| Failure::LogLevel(options.log_level.clone()))?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(io::stderr().is_terminal());
    match options.log_format {
        LogFormat::Json => log.json().flatten_event(true).init(),
        LogFormat::Text => log.init(),
    }
    Ok(())
}

async fn run_until_signal(options: &Options) -> Result<(), Failure> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let metrics = Metrics::new();
    let throttle = Throttle::new(options.kube_api_qps, options.kube_api_burst);
    let client = client::connect(options.kubeconfig.as_deref(), throttle, &metrics)
        .await
        .map_err(|error| Failure::Connect(Box::new(error)))?;
    let mut controller = Controller::start(client, Clock::system(), metrics, options);
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        concurrency = options.concurrency,
        "started"
    );
    let failure = tokio::select! {
        _ = terminate.recv() => None,
        _ = interrupt.recv() => None,
        failure = controller.ended() => Some(failure),
    };
    if failure.is_none() {
        tracing::info!("ending, reconciles that have begun are finished");
    }
    controller.stop().await;
    failure.map_or(Ok(()), Err)
}
