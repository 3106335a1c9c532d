//! A worker: takes one job after the other from the queue and reconciles it.

use std::sync::Arc;

use tokio::sync::watch::Receiver;

use super::context::Context;
use super::queue::Item;
use super::reconcile;

/// The signal to take no more jobs.
#[derive(Clone, Debug)]
pub(crate) struct Shutdown(Receiver<bool>);

impl Shutdown {
    /// Wraps a channel whose value turns true once.
    pub(crate) fn new(stopped: Receiver<bool>) -> Self {
        Self(stopped)
    }

    /// Waits for the signal; a controller that is dropped gives it, too.
    async fn requested(&mut self) {
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }
}

/// Works until shutdown; the job that has begun is then finished.
pub(crate) async fn work(ctx: Arc<Context>, mut shutdown: Shutdown) {
    // Without the lists, a restart would ask the API server for every JobSet by itself.
    tokio::select! {
        () = shutdown.requested() => return,
        () = async {
            ctx.jobs.settled().await;
            ctx.jobsets.settled().await;
        } => {}
    }
    loop {
        let item = tokio::select! {
            biased;
            () = shutdown.requested() => return,
            item = ctx.queue.next() => item,
        };
        reconcile(&ctx, item).await;
    }
}

async fn reconcile(ctx: &Arc<Context>, Item { key, since }: Item) {
    // It is read after it was taken, so a change that comes later makes it wait again.
    let Some(job) = ctx.job(&key) else {
        ctx.forget(&key);
        ctx.queue.done(&key);
        return;
    };
    let next = reconcile::run(ctx, &key, job, since).await;
    ctx.queue.done(&key);
    if let Some(next) = next {
        ctx.queue.add_after(key, next.delay, next.priority);
    }
}
