//! The jobs that wait for a reconcile.
//!
//! No client. A job waits once, however many reasons there are; one that comes while the job is being worked on
//! makes it wait again.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};

use super::context::Key;
use super::metrics::Metrics;

/// The way in.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: Mutex<HashSet<Key>>,
    sender: UnboundedSender<Key>,
    metrics: Metrics,
}

impl Queue {
    /// Makes a queue and gives its way out.
    pub(super) fn new(metrics: Metrics) -> (Self, UnboundedReceiver<Key>) {
        let (sender, receiver) = unbounded();
        let queue = Self {
            waiting: Mutex::default(),
            sender,
            metrics,
        };
        (queue, receiver)
    }

    /// Lets a job wait, if it does not yet.
    pub(super) fn add(&self, key: Key) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.insert(key.clone()) {
            self.metrics.queued(waiting.len());
            // Without a receiver the controller is about to end.
            let _ = self.sender.unbounded_send(key);
        }
    }

    /// Notes that the work on a job begins, so that what comes from now on counts as new.
    pub(super) fn begin(&self, key: &Key) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.remove(key);
        self.metrics.queued(waiting.len());
    }
}

#[cfg(test)]
mod tests {
    use futures::StreamExt;

    use super::*;

    #[test]
    fn a_job_waits_once_and_again_after_it_has_begun() {
        let (queue, mut out) = Queue::new(Metrics::new());
        queue.add(Key::new("a"));
        queue.add(Key::new("a"));
        queue.begin(&Key::new("a"));
        queue.add(Key::new("a"));
        drop(queue);
        let out = futures::executor::block_on(async { out.by_ref().count().await });
        assert_eq!(out, 2);
    }
}
