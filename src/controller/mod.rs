//! The controller: the only module with a client, an async runtime and a clock.
//!
//! It decides nothing. Watches fill stores and wake jobs (`watch`, `wake`); each job that is awake is reconciled in
//! five steps, each its own file (`fetch`, `decide`, `apply`, observe in [`crate::status`], `record`). What is
//! deliberately absent: watches of ConfigMaps and Secrets, and finalizers.

#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "the controller has a clock, files, a network and caches whose order does not matter"
)]

mod apply;
mod client;
mod context;
mod decide;
mod error;
mod events;
mod fetch;
mod finalizers;
mod gangs;
mod keys;
mod live;
mod metrics;
mod objects;
mod options;
mod queue;
mod reconcile;
mod record;
mod retry;
mod runtimes;
mod serve;
mod throttle;
mod wake;
mod watch;
mod written;

use std::convert::Infallible;
use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::controller::{Config, Error as ApplierError, applier};
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::sync::watch::{Receiver, channel as watch_channel};
use tokio::task::JoinSet;
use tracing_subscriber::EnvFilter;

pub use options::{BindAddress, LogFormat, Options};
pub use runtimes::Runtimes;

use context::{Compared, Context, Deleted};
use events::Recorder;
use gangs::Gangs;
use live::Live;
use metrics::Metrics;
use queue::Queue;
use retry::Retries;
use throttle::Throttle;
use watch::{Feed, State, Watched, follow};
use written::Written;

use crate::api::{ClusterTrainingRuntime, JobSet, Raw, TrainJob, TrainingRuntime};
use crate::plan::{self, RuntimeKind};

/// How long reconciles may take to end; a pod is given ten seconds.
const GRACE: Duration = Duration::from_secs(8);

/// What the client library says of each failed request, watch and reconcile; this program says it better itself.
const QUIET: &str = "kube_client::client::builder=off,kube_runtime::controller=off,kube_runtime::watcher=off";

/// What runs besides the reconciles.
type Parts = JoinSet<Result<(), Failure>>;
/// Turns true when the controller is to end.
type Told = Receiver<bool>;

/// Why the controller could not start, or ended.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The value of `--log-level` means nothing.
    #[error("--log-level {0:?} is no level; use error, warn, info, debug or trace")]
    LogLevel(String),
    /// The system refused something that the program needs.
    #[error(transparent)]
    System(#[from] io::Error),
    /// No cluster was found, or its client cannot be made.
    #[error("cannot connect to a cluster")]
    Connect(#[source] Box<kube::Error>),
    /// A part of the controller ended that must not.
    #[error("{0} ended unexpectedly")]
    Ended(&'static str),
    /// The shipped runtimes could not be applied or deleted.
    #[error("{0}")]
    Runtimes(String),
}

/// Runs the controller until it is told to end.
pub fn run(options: &Options) -> Result<(), Failure> {
    log(options)?;
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(run_until_told(options))
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

async fn run_until_told(options: &Options) -> Result<(), Failure> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (stop, told) = watch_channel(false);
    let (mut parts, work) = start(options, told).await?;
    let mut work = tokio::spawn(work);
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        concurrency = options.concurrency,
        "started"
    );
    let ended = tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        Some(part) = parts.join_next() => part.unwrap_or(Err(Failure::Ended("a part that panicked"))),
        _ = &mut work => Err(Failure::Ended("the work on TrainJobs")),
    };
    if ended.is_ok() {
        tracing::info!("ending, reconciles that have begun are finished");
        stop.send_replace(true);
        let _ = tokio::time::timeout(GRACE, work).await;
    }
    parts.shutdown().await;
    ended
}

/// Starts all parts, none of which ends by itself, and gives the work on the jobs, which ends when told.
async fn start(options: &Options, told: Told) -> Result<(Parts, impl Future<Output = ()> + use<>), Failure> {
    let metrics = Metrics::new();
    let throttle = Throttle::new(options.kube_api_qps, options.kube_api_burst);
    let client = client::connect(options.kubeconfig.as_deref(), throttle, &metrics)
        .await
        .map_err(|error| Failure::Connect(Box::new(error)))?;
    let (events, notes) = Recorder::new(metrics.clone());
    let (jobs, job_feed) = Watched::new();
    let (jobsets, jobset_feed) = Watched::new();
    let (runtimes, runtime_feed) = Watched::new();
    let (cluster_runtimes, cluster_runtime_feed) = Watched::new();
    let (gangs, gang_feeds) = Gangs::new();
    let ctx = Arc::new(Context {
        client,
        jobs,
        jobsets,
        runtimes,
        cluster_runtimes,
        live: Live::default(),
        gangs,
        written_jobs: Written::default(),
        written_jobsets: Written::default(),
        deleted: Deleted::default(),
        compared: Compared::default(),
        queue: Queue::new(metrics.clone()),
        retries: Retries::default(),
        events,
        metrics,
        config: plan::Config {
            accelerators: options.accelerator_resources.clone(),
        },
    });

    let mut parts = JoinSet::new();
    watch_jobs(&mut parts, &ctx, job_feed, jobset_feed);
    watch_runtimes(&mut parts, &ctx, runtime_feed, cluster_runtime_feed);
    let shared = ctx.clone();
    parts.spawn(async move {
        gangs::follow_when_needed(shared, gang_feeds).await;
        Err(Failure::Ended("the watches for gangs"))
    });
    let client = ctx.client.clone();
    parts.spawn(async move {
        events::write(client, notes).await;
        Err(Failure::Ended("writing Events"))
    });
    let (shared, address) = (ctx.clone(), options.health_bind_address.clone());
    parts.spawn(async move { Ok(serve::health(&address, shared).await?) });
    let (shared, address) = (ctx.clone(), options.metrics_bind_address.clone());
    parts.spawn(async move { Ok(serve::metrics(&address, shared).await?) });
    Ok((parts, work(ctx, options.concurrency, told)))
}

fn watch_jobs(parts: &mut Parts, ctx: &Arc<Context>, jobs: Feed<TrainJob>, jobsets: Feed<JobSet>) {
    let (client, on) = (ctx.client.clone(), wake::shared(ctx, wake::job));
    parts.spawn(async move {
        follow(client, jobs, |_| {}, on).await;
        Err(Failure::Ended("the watch of TrainJobs"))
    });
    let (client, on) = (ctx.client.clone(), wake::shared(ctx, wake::jobset));
    parts.spawn(async move {
        follow(client, jobsets, keep_suspend_only, on).await;
        Err(Failure::Ended("the watch of JobSets"))
    });
}

fn watch_runtimes(
    parts: &mut Parts,
    ctx: &Arc<Context>,
    runtimes: Feed<TrainingRuntime>,
    cluster_runtimes: Feed<ClusterTrainingRuntime>,
) {
    let (leftovers, found) = mpsc::unbounded_channel();
    let client = ctx.client.clone();
    parts.spawn(async move {
        finalizers::remove_all(client, found).await;
        Err(Failure::Ended("the removal of old finalizers"))
    });
    let (client, sender) = (ctx.client.clone(), leftovers.clone());
    let on = wake::shared(ctx, move |ctx, event| {
        wake::runtime(ctx, &sender, RuntimeKind::Namespaced, event);
    });
    parts.spawn(async move {
        follow(client, runtimes, |runtime| runtime.spec = None, on).await;
        Err(Failure::Ended("the watch of TrainingRuntimes"))
    });
    let client = ctx.client.clone();
    let on = wake::shared(ctx, move |ctx, event| {
        wake::runtime(ctx, &leftovers, RuntimeKind::Cluster, event);
    });
    parts.spawn(async move {
        follow(client, cluster_runtimes, |runtime| runtime.spec = None, on).await;
        Err(Failure::Ended("the watch of ClusterTrainingRuntimes"))
    });
}

/// Of a JobSet's spec only `suspend` is looked at without reading it anew, so the rest need not be in memory.
fn keep_suspend_only(jobset: &mut JobSet) {
    let suspend = jobset.spec.get("suspend").cloned().unwrap_or(Value::Bool(false));
    jobset.spec = Raw::new(serde_json::json!({ "suspend": suspend }));
}

/// Reconciles jobs as they wake, a bounded number at a time and each one alone, until told to end; what has begun is
/// then finished.
async fn work(ctx: Arc<Context>, concurrency: u16, mut told: Told) {
    // Without the lists a restart would ask the API server for every JobSet by itself.
    ctx.jobs.settled().await;
    ctx.jobsets.settled().await;
    let store = ctx.jobs.store.clone();
    let mut results = std::pin::pin!(applier(
        |job, ctx| Box::pin(reconcile::run(job, ctx)),
        // What goes wrong is reported, and the next try is planned, where it happens.
        |_, never: &Infallible, _| match *never {},
        ctx.clone(),
        store,
        ctx.queue
            .jobs()
            .map(Ok::<_, Infallible>)
            .take_until(Box::pin(async move { told.wait_for(|t| *t).await.is_ok() })),
        Config::default().concurrency(concurrency),
    ));
    while let Some(result) = results.next().await {
        if let Err(ApplierError::ObjectNotFound(key)) = result {
            let mut gone = context::Key::new(&key.name);
            gone.namespace.clone_from(&key.namespace);
            ctx.forget(&gone);
        }
    }
}

impl Context {
    /// Tells of each watched kind how its watch is doing.
    fn states(&self) -> [(&'static str, State); 4] {
        [
            (crate::api::names::TRAIN_JOB, self.jobs.state()),
            (crate::api::names::JOBSET, self.jobsets.state()),
            (crate::api::names::TRAINING_RUNTIME, self.runtimes.state()),
            (
                crate::api::names::CLUSTER_TRAINING_RUNTIME,
                self.cluster_runtimes.state(),
            ),
        ]
    }
}
