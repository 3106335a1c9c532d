//! The jobs that wait for a reconcile: what is urgent first, what is to come back later, and who is worked on.
//!
//! No client. A job waits once, however many reasons there are, and nobody works on it twice at a time: a reason that comes
//! meanwhile makes it wait again. Jobs that wait for their objects precede status updates, so a thousand jobs
//! that report progress, or that a restart looks through, do not keep a new one from its JobSet.

pub(crate) mod backoff;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::key::Key;
use super::metrics::Metrics;

/// Why a job waits; the order is that of urgency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Priority {
    /// Its objects are not what its author asked for.
    Build,
    /// Its status follows.
    Status,
}

/// Every n-th job is one whose status follows, so that none starves.
const TURN: u64 = 4;

/// The jobs that wait.
#[derive(Debug)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Something was added, or is due earlier than the workers know.
    changed: Notify,
    metrics: Metrics,
}

/// A job to work on.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) key: Key,
    /// Since when it waited.
    pub(crate) since: Instant,
}

#[derive(Debug, Default)]
struct State {
    /// By urgency, then by age.
    waiting: BTreeMap<Ticket, Key>,
    tickets: HashMap<Key, (Ticket, Instant)>,
    /// By when they are to wait.
    delayed: BTreeMap<Due, (Key, Priority)>,
    due: HashMap<Key, Due>,
    /// Jobs that are worked on, and whether they are to wait again afterwards.
    running: HashMap<Key, Option<Priority>>,
    added: u64,
    taken: u64,
}

type Ticket = (Priority, u64);
type Due = (Instant, u64);

impl Queue {
    /// Makes an empty queue.
    pub(crate) fn new(metrics: Metrics) -> Self {
        Self {
            state: Mutex::default(),
            changed: Notify::new(),
            metrics,
        }
    }

    /// Lets a job wait, if it does not yet; a more urgent reason moves it forward.
    pub(crate) fn add(&self, key: Key, priority: Priority) {
        let mut state = self.lock();
        state.add(key, priority);
        self.changed(&state);
    }

    /// Lets a job wait after a delay, or earlier if it is already to come back earlier.
    pub(crate) fn add_after(&self, key: Key, delay: Duration, priority: Priority) {
        let mut state = self.lock();
        state.add_at(key, Instant::now() + delay, priority);
        self.changed(&state);
    }

    /// Waits for the job to work on next. It counts as worked on until [`Queue::done`].
    pub(crate) async fn next(&self) -> Item {
        loop {
            let due = {
                let mut state = self.lock();
                state.wake(Instant::now());
                if let Some(item) = state.take() {
                    self.metrics.waited(item.since.elapsed());
                    self.changed(&state);
                    return item;
                }
                state.delayed.first_key_value().map(|((at, _), _)| *at)
            };
            match due {
                None => self.changed.notified().await,
                Some(at) => tokio::select! {
                    () = self.changed.notified() => {}
                    () = sleep_until(at) => {}
                },
            }
        }
    }

    /// Notes that the work on a job has ended.
    pub(crate) fn done(&self, key: &Key) {
        let mut state = self.lock();
        if let Some(Some(priority)) = state.running.remove(key) {
            state.add(key.clone(), priority);
        }
        self.changed(&state);
    }

    /// Forgets a job that is gone. If it is worked on and came back meanwhile, it still waits afterwards.
    pub(crate) fn forget(&self, key: &Key) {
        let mut state = self.lock();
        state.leave(key);
        self.changed(&state);
    }

    /// Reports whether jobs wait for their objects.
    pub(crate) fn has_builds(&self) -> bool {
        let state = self.lock();
        state
            .waiting
            .first_key_value()
            .is_some_and(|((priority, _), _)| *priority == Priority::Build)
    }

    /// Wakes a worker if there is anything to do; whoever takes a job wakes the next.
    fn changed(&self, state: &State) {
        self.metrics.queued(state.waiting.len());
        if !(state.waiting.is_empty() && state.delayed.is_empty()) {
            self.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, key: Key, priority: Priority) {
        if let Some(again) = self.running.get_mut(&key) {
            *again = Some(again.map_or(priority, |other| other.min(priority)));
            return;
        }
        let since = match self.tickets.get(&key) {
            Some(((waits, _), _)) if *waits <= priority => return,
            Some((ticket, since)) => {
                self.waiting.remove(ticket);
                *since
            }
            None => Instant::now(),
        };
        self.added += 1;
        let ticket = (priority, self.added);
        self.tickets.insert(key.clone(), (ticket, since));
        self.waiting.insert(ticket, key);
    }

    fn add_at(&mut self, key: Key, at: Instant, priority: Priority) {
        if self.due.get(&key).is_some_and(|(earlier, _)| *earlier <= at) {
            return;
        }
        self.undelay(&key);
        self.added += 1;
        let due = (at, self.added);
        self.due.insert(key.clone(), due);
        self.delayed.insert(due, (key, priority));
    }

    fn undelay(&mut self, key: &Key) {
        if let Some(due) = self.due.remove(key) {
            self.delayed.remove(&due);
        }
    }

    /// Lets the jobs wait whose delay is over.
    fn wake(&mut self, now: Instant) {
        while let Some(first) = self.delayed.first_entry().filter(|first| first.key().0 <= now) {
            let (key, priority) = first.remove();
            self.due.remove(&key);
            self.add(key, priority);
        }
    }

    fn leave(&mut self, key: &Key) {
        self.undelay(key);
        if let Some((ticket, _)) = self.tickets.remove(key) {
            self.waiting.remove(&ticket);
        }
    }

    fn take(&mut self) -> Option<Item> {
        let status = (Priority::Status, 0)..;
        let turn = (self.taken + 1).is_multiple_of(TURN);
        let first_status = turn.then(|| self.waiting.range(status).next()).flatten();
        let (ticket, key) = first_status.or_else(|| self.waiting.first_key_value())?;
        let (ticket, key) = (*ticket, key.clone());
        let (_, since) = self.tickets.remove(&key)?;
        self.taken += 1;
        self.waiting.remove(&ticket);
        // The reconcile decides again when the job is to come back.
        self.undelay(&key);
        self.running.insert(key.clone(), None);
        Some(Item { key, since })
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn queue() -> Queue {
        Queue::new(Metrics::new())
    }

    fn next(queue: &Queue) -> Option<String> {
        queue.next().now_or_never().map(|item| item.key.name)
    }

    /// Takes all jobs that wait.
    fn all(queue: &Queue) -> Vec<String> {
        std::iter::from_fn(|| next(queue)).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_waits_once_and_again_after_it_was_worked_on() {
        let queue = queue();
        queue.add(Key::new("a"), Priority::Status);
        queue.add(Key::new("a"), Priority::Status);
        assert_eq!(all(&queue), ["a"]);
        queue.add(Key::new("a"), Priority::Status);
        assert_eq!(all(&queue), [""; 0], "nobody works on a job twice at a time");
        queue.done(&Key::new("a"));
        assert_eq!(all(&queue), ["a"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_between_taking_a_job_and_reading_it_is_not_lost() {
        let queue = queue();
        queue.add(Key::new("a"), Priority::Status);
        assert_eq!(next(&queue).as_deref(), Some("a"));
        queue.add(Key::new("a"), Priority::Status);
        // The job was not found, and comes back meanwhile.
        queue.forget(&Key::new("a"));
        queue.done(&Key::new("a"));
        assert_eq!(all(&queue), ["a"]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_urgent_goes_first_and_moves_forward() {
        let queue = queue();
        for name in ["a", "b", "c"] {
            queue.add(Key::new(name), Priority::Status);
        }
        queue.add(Key::new("new"), Priority::Build);
        queue.add(Key::new("c"), Priority::Build);
        assert!(queue.has_builds());
        assert_eq!(all(&queue), ["new", "c", "a", "b"]);
        assert!(!queue.has_builds());
    }

    #[tokio::test(start_paused = true)]
    async fn no_job_starves() {
        let queue = queue();
        queue.add(Key::new("status"), Priority::Status);
        for i in 0..9 {
            queue.add(Key::new(&format!("new-{i}")), Priority::Build);
        }
        let order = all(&queue);
        assert_eq!(
            order.iter().position(|name| name == "status"),
            Some(3),
            "{order:?}"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_delayed_job_comes_back_in_its_time_and_in_its_turn() {
        let queue = queue();
        let (start, second) = (Instant::now(), Duration::from_secs(1));
        queue.add_after(Key::new("late"), second * 9, Priority::Status);
        queue.add_after(Key::new("late"), second * 5, Priority::Status);
        queue.add_after(Key::new("late"), second * 7, Priority::Status);
        assert_eq!(all(&queue), [""; 0]);
        assert_eq!(queue.next().await.key.name, "late");
        assert_eq!(start.elapsed().as_secs(), 5, "the earliest time counts");

        queue.done(&Key::new("late"));
        queue.add_after(Key::new("late"), second, Priority::Status);
        tokio::time::advance(second).await;
        queue.add(Key::new("new"), Priority::Build);
        assert_eq!(all(&queue), ["new", "late"]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_job_that_is_worked_on_forgets_when_it_was_to_come_back() {
        let queue = queue();
        queue.add_after(Key::new("a"), Duration::from_secs(1), Priority::Status);
        queue.add(Key::new("a"), Priority::Build);
        assert_eq!(all(&queue), ["a"]);
        queue.done(&Key::new("a"));
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(all(&queue), [""; 0]);
    }

    #[tokio::test(start_paused = true)]
    async fn every_worker_that_waits_gets_a_job() {
        let queue = std::sync::Arc::new(queue());
        let workers: Vec<_> = (0..3)
            .map(|_| {
                let queue = queue.clone();
                tokio::spawn(async move { queue.next().await.key.name })
            })
            .collect();
        tokio::task::yield_now().await;
        for name in ["a", "b", "c"] {
            queue.add(Key::new(name), Priority::Build);
        }
        let mut names = Vec::new();
        for worker in workers {
            names.push(worker.await.unwrap());
        }
        names.sort();
        assert_eq!(names, ["a", "b", "c"]);
    }
}
