//! What the controller consists of while it runs: tasks that always run, and tasks that run only while this replica leads.
//!
//! Every replica watches, serves health and metrics, and writes its Events. Only the leader works on TrainJobs, watches what
//! only that work needs, and removes old finalizers. Today every replica leads from its start.

use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::cache::compared::Compared;
use super::cache::deleted_jobsets::DeletedJobSets;
use super::cache::gang_facts::{Feeds, GangFacts};
use super::cache::mutation_cache::MutationCache;
use super::cache::runtime_cache::RuntimeCache;
use super::cache::watch::{Feed, Watched, follow};
use super::clock::Clock;
use super::context::Context;
use super::events::{self, Recorder};
use super::failure::Failure;
use super::finalizers::{self, Leftover};
use super::metrics::Metrics;
use super::options::Options;
use super::queue::Queue;
use super::queue::backoff::Backoff;
use super::worker::{self, Shutdown};
use super::{server, wake};
use crate::api::{ClusterTrainingRuntime, JobSet, Raw, TrainJob, TrainingRuntime};
use crate::plan::{self, RuntimeKind};

/// How long reconciles may take to end; a Pod is given ten seconds.
const GRACE: Duration = Duration::from_secs(8);

/// A controller that runs.
#[derive(Debug)]
pub struct Controller {
    /// Run on every replica, until the process ends.
    always: Tasks,
    /// Run only while this replica leads.
    while_leading: Tasks,
    workers: JoinSet<()>,
    stop: watch::Sender<bool>,
}

impl Controller {
    /// Starts a controller with a client and a clock of the caller's. It must be called in a tokio runtime.
    pub fn start_with(client: Client, clock: Clock, options: &Options) -> Self {
        Self::start(client, clock, Metrics::new(), options)
    }

    /// Starts a controller whose client already counts its requests in `metrics`.
    pub(super) fn start(client: Client, clock: Clock, metrics: Metrics, options: &Options) -> Self {
        let (ctx, feeds) = context(client, clock, metrics, options);
        let (leftovers, found) = mpsc::unbounded_channel();
        let (stop, stopped) = watch::channel(false);
        let mut controller = Self {
            always: Tasks::default(),
            while_leading: Tasks::default(),
            workers: JoinSet::new(),
            stop,
        };
        controller.always(&ctx, feeds.watches, feeds.notes, leftovers, options);
        controller.while_leading(&ctx, feeds.gang_facts, found);
        for _ in 0..options.concurrency {
            let shutdown = Shutdown::new(stopped.clone());
            controller.workers.spawn(worker::work(ctx.clone(), shutdown));
        }
        controller
    }

    fn always(
        &mut self,
        ctx: &Arc<Context>,
        watches: Watches,
        notes: events::Notes,
        leftovers: mpsc::UnboundedSender<Leftover>,
        options: &Options,
    ) {
        let Watches {
            jobs,
            jobsets,
            runtimes,
            cluster_runtimes,
        } = watches;
        let tasks = &mut self.always;
        let client = || ctx.client.clone();
        tasks.spawn("the watch of TrainJobs", {
            follow(client(), jobs, |_| {}, wake::shared(ctx, wake::job))
        });
        tasks.spawn("the watch of JobSets", {
            follow(
                client(),
                jobsets,
                keep_suspend_only,
                wake::shared(ctx, wake::jobset),
            )
        });
        let sender = leftovers.clone();
        let on = wake::shared(ctx, move |ctx, event| {
            wake::runtime(ctx, &sender, RuntimeKind::Namespaced, event);
        });
        tasks.spawn("the watch of TrainingRuntimes", {
            follow(client(), runtimes, |runtime| runtime.spec = None, on)
        });
        let on = wake::shared(ctx, move |ctx, event| {
            wake::runtime(ctx, &leftovers, RuntimeKind::Cluster, event);
        });
        tasks.spawn("the watch of ClusterTrainingRuntimes", {
            follow(client(), cluster_runtimes, |runtime| runtime.spec = None, on)
        });
        tasks.spawn(
            "writing Events",
            events::write(client(), ctx.clock.clone(), notes),
        );
        let (shared, address) = (ctx.clone(), options.health_bind_address.clone());
        tasks.spawn_fallible("the health server", async move {
            server::health::run(&address, shared).await
        });
        let (shared, address) = (ctx.clone(), options.metrics_bind_address.clone());
        tasks.spawn_fallible("the metrics server", async move {
            server::metrics::run(&address, shared).await
        });
    }

    fn while_leading(
        &mut self,
        ctx: &Arc<Context>,
        feeds: Feeds,
        leftovers: mpsc::UnboundedReceiver<Leftover>,
    ) {
        let tasks = &mut self.while_leading;
        tasks.spawn("the watches for gangs", watch_gang_facts(ctx.clone(), feeds));
        tasks.spawn(
            "the removal of old finalizers",
            finalizers::remove_all(ctx.client.clone(), leftovers),
        );
    }

    /// Waits until a task ends that must not, and returns why.
    pub async fn ended(&mut self) -> Failure {
        tokio::select! {
            failure = self.always.ended() => failure,
            failure = self.while_leading.ended() => failure,
            _ = self.workers.join_next() => Failure::Ended("the work on TrainJobs"),
        }
    }

    /// Ends all tasks; reconciles that have begun are finished.
    pub async fn stop(mut self) {
        self.stop.send_replace(true);
        let finished = async { while self.workers.join_next().await.is_some() {} };
        // What takes longer than a Pod is given is cut off.
        let _ = tokio::time::timeout(GRACE, finished).await;
        self.workers.shutdown().await;
        self.while_leading.0.shutdown().await;
        self.always.0.shutdown().await;
    }
}

/// Tasks, none of which ends by itself.
#[derive(Debug, Default)]
struct Tasks(JoinSet<Failure>);

impl Tasks {
    fn spawn(&mut self, name: &'static str, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(async move {
            task.await;
            Failure::Ended(name)
        });
    }

    fn spawn_fallible(
        &mut self,
        name: &'static str,
        task: impl Future<Output = std::io::Result<()>> + Send + 'static,
    ) {
        self.0
            .spawn(async move { task.await.map_or_else(Failure::System, |()| Failure::Ended(name)) });
    }

    async fn ended(&mut self) -> Failure {
        match self.0.join_next().await {
            Some(ended) => ended.unwrap_or(Failure::Ended("a task that panicked")),
            None => std::future::pending().await,
        }
    }
}

/// What feeds the stores and queues of a [`Context`].
struct ContextFeeds {
    watches: Watches,
    gang_facts: Feeds,
    notes: events::Notes,
}

/// What feeds the stores of the kinds that are always watched.
struct Watches {
    jobs: Feed<TrainJob>,
    jobsets: Feed<JobSet>,
    runtimes: Feed<TrainingRuntime>,
    cluster_runtimes: Feed<ClusterTrainingRuntime>,
}

fn context(
    client: Client,
    clock: Clock,
    metrics: Metrics,
    options: &Options,
) -> (Arc<Context>, ContextFeeds) {
    let (events, notes) = Recorder::new(metrics.clone());
    let (jobs, job_feed) = Watched::new();
    let (jobsets, jobset_feed) = Watched::new();
    let (runtimes, runtime_feed) = Watched::new();
    let (cluster_runtimes, cluster_runtime_feed) = Watched::new();
    let (gang_facts, gang_feeds) = GangFacts::new();
    let ctx = Context {
        client,
        clock,
        jobs,
        jobsets,
        runtimes,
        cluster_runtimes,
        runtime_cache: RuntimeCache::default(),
        gang_facts,
        written_jobs: MutationCache::default(),
        written_jobsets: MutationCache::default(),
        deleted_jobsets: DeletedJobSets::default(),
        compared: Compared::default(),
        queue: Queue::new(metrics.clone()),
        backoff: Backoff::default(),
        events,
        metrics,
        config: plan::Config {
            accelerators: options.accelerator_resources.clone(),
        },
    };
    let feeds = ContextFeeds {
        watches: Watches {
            jobs: job_feed,
            jobsets: jobset_feed,
            runtimes: runtime_feed,
            cluster_runtimes: cluster_runtime_feed,
        },
        gang_facts: gang_feeds,
        notes,
    };
    (Arc::new(ctx), feeds)
}

/// Only `suspend` of a JobSet's spec is used without reading the JobSet again, so the rest need not be in memory.
fn keep_suspend_only(jobset: &mut JobSet) {
    let suspend = jobset.spec.get("suspend").cloned().unwrap_or(Value::Bool(false));
    jobset.spec = Raw::new(json!({ "suspend": suspend }));
}

/// Watches LimitRanges and RuntimeClasses, from when a job with a gang comes.
async fn watch_gang_facts(ctx: Arc<Context>, feeds: Feeds) {
    feeds.needed.notified().await;
    let limit_ranges = follow(
        ctx.client.clone(),
        feeds.limit_ranges,
        |range| {
            // Only the defaults of containers count.
            range.metadata.annotations = None;
            if let Some(spec) = &mut range.spec {
                spec.limits.retain(|item| item.type_ == "Container");
            }
        },
        wake::shared(&ctx, wake::limit_range),
    );
    let runtime_classes = follow(
        ctx.client.clone(),
        feeds.runtime_classes,
        |_| {},
        wake::shared(&ctx, wake::runtime_class),
    );
    tokio::join!(limit_ranges, runtime_classes);
}
