//! The jobs that wait for a reconcile, the urgent ones first.
//!
//! No client. A job waits once, however many reasons there are; one that comes while the job is being worked on
//! makes it wait again. What somebody waits for goes before what only follows: a thousand jobs that report their
//! progress, or that are looked through after a restart, do not keep a new one from its JobSet.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use futures::Stream;

use super::context::Key;
use super::metrics::Metrics;

/// Why a job waits; the order is that of urgency.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Lane {
    /// Its objects are not what its author asked for.
    Build,
    /// Its status follows.
    Follow,
}

/// Every how many jobs one goes first that only follows, so that none waits for ever.
const TURN: u64 = 4;
/// How many jobs may be handed out and not begun. They have lost their order, so they are few.
const IN_HAND: usize = 4;

/// The jobs that wait.
#[derive(Debug)]
pub(super) struct Queue {
    state: Mutex<State>,
    metrics: Metrics,
}

#[derive(Debug, Default)]
struct State {
    /// By urgency, then by age.
    waiting: BTreeMap<Ticket, Key>,
    tickets: HashMap<Key, (Ticket, Instant)>,
    /// Jobs that were handed out and not begun, and since when they waited.
    in_hand: HashMap<Key, Instant>,
    /// Jobs that are worked on, and whether they are to wait again afterwards.
    running: HashMap<Key, Option<Lane>>,
    added: u64,
    taken: u64,
    waker: Option<Waker>,
}

type Ticket = (Lane, u64);

impl Queue {
    /// Makes an empty queue.
    pub(super) fn new(metrics: Metrics) -> Self {
        Self {
            state: Mutex::default(),
            metrics,
        }
    }

    /// Lets a job wait, if it does not yet; a more urgent reason moves it forward.
    pub(super) fn add(&self, key: Key, lane: Lane) {
        self.change(|state| state.add(key, lane));
    }

    /// Notes that the work on a job begins, so that what comes from now on counts as new; tells since when it waited.
    pub(super) fn begin(&self, key: &Key) -> Instant {
        let mut since = None;
        self.change(|state| {
            since = state.leave(key);
            state.running.insert(key.clone(), None);
        });
        // A retry waits for its time and not for its turn.
        let since = since.unwrap_or_else(Instant::now);
        self.metrics.waited(since.elapsed());
        since
    }

    /// Notes that the work on a job has ended.
    pub(super) fn end(&self, key: &Key) {
        self.change(|state| {
            if let Some(Some(lane)) = state.running.remove(key) {
                state.add(key.clone(), lane);
            }
        });
    }

    /// Forgets a job that is gone.
    pub(super) fn forget(&self, key: &Key) {
        self.change(|state| _ = state.leave(key));
    }

    /// Tells whether urgent jobs wait.
    pub(super) fn is_urgent(&self) -> bool {
        let state = self.lock();
        state
            .waiting
            .first_key_value()
            .is_some_and(|((lane, _), _)| *lane == Lane::Build)
    }

    /// Gives the jobs, in the order in which they are to be worked on; it never ends.
    pub(super) fn jobs(&self) -> impl Stream<Item = Key> + '_ {
        futures::stream::poll_fn(|cx| self.poll(cx))
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<Option<Key>> {
        let mut state = self.lock();
        let next = state.take();
        if next.is_none() {
            state.waker = Some(cx.waker().clone());
        }
        next.map_or(Poll::Pending, |key| Poll::Ready(Some(key)))
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.lock();
        change(&mut state);
        self.metrics.queued(state.waiting.len());
        if let Some(waker) = state.waker.take() {
            waker.wake();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, key: Key, lane: Lane) {
        if let Some(again) = self.running.get_mut(&key) {
            *again = Some(again.map_or(lane, |other| other.min(lane)));
            return;
        }
        let since = match self.tickets.get(&key) {
            Some(((waits, _), _)) if *waits <= lane => return,
            Some((ticket, since)) => {
                self.waiting.remove(ticket);
                *since
            }
            // It sees what is new when it begins.
            None if self.in_hand.contains_key(&key) => return,
            None => Instant::now(),
        };
        self.added += 1;
        let ticket = (lane, self.added);
        self.tickets.insert(key.clone(), (ticket, since));
        self.waiting.insert(ticket, key);
    }

    /// Lets a job wait no more, and tells since when it did.
    fn leave(&mut self, key: &Key) -> Option<Instant> {
        let in_hand = self.in_hand.remove(key);
        let waiting = self.tickets.remove(key).map(|(ticket, since)| {
            self.waiting.remove(&ticket);
            since
        });
        in_hand.or(waiting)
    }

    fn take(&mut self) -> Option<Key> {
        if self.in_hand.len() >= IN_HAND {
            return None;
        }
        let followers = (Lane::Follow, 0)..;
        let turn = (self.taken + 1).is_multiple_of(TURN);
        let follower = turn.then(|| self.waiting.range(followers).next()).flatten();
        let (ticket, key) = follower.or_else(|| self.waiting.first_key_value())?;
        let (ticket, key) = (*ticket, key.clone());
        self.taken += 1;
        self.waiting.remove(&ticket);
        let (_, since) = self.tickets.remove(&key)?;
        self.in_hand.insert(key.clone(), since);
        Some(key)
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};

    use super::*;

    fn queue() -> Queue {
        Queue::new(Metrics::new())
    }

    /// Takes and begins all jobs that wait.
    fn all(queue: &Queue) -> Vec<String> {
        let mut taken = Vec::new();
        while let Some(Some(key)) = queue.jobs().next().now_or_never() {
            queue.begin(&key);
            taken.push(key.name);
        }
        taken
    }

    #[test]
    fn a_job_waits_once_and_again_after_it_has_begun() {
        let queue = queue();
        queue.add(Key::new("a"), Lane::Follow);
        queue.add(Key::new("a"), Lane::Follow);
        assert_eq!(all(&queue), ["a"]);
        queue.add(Key::new("a"), Lane::Follow);
        assert_eq!(all(&queue), [""; 0], "nobody works on a job twice at a time");
        queue.end(&Key::new("a"));
        assert_eq!(all(&queue), ["a"]);
    }

    #[test]
    fn what_is_urgent_goes_first_and_moves_forward() {
        let queue = queue();
        for name in ["a", "b", "c"] {
            queue.add(Key::new(name), Lane::Follow);
        }
        queue.add(Key::new("new"), Lane::Build);
        queue.add(Key::new("c"), Lane::Build);
        assert!(queue.is_urgent());
        assert_eq!(all(&queue), ["new", "c", "a", "b"]);
        assert!(!queue.is_urgent());
    }

    #[test]
    fn nobody_waits_for_ever() {
        let queue = queue();
        queue.add(Key::new("follower"), Lane::Follow);
        for i in 0..9 {
            queue.add(Key::new(&format!("new-{i}")), Lane::Build);
        }
        let order = all(&queue);
        assert_eq!(
            order.iter().position(|name| name == "follower"),
            Some(3),
            "{order:?}"
        );
    }

    #[test]
    fn few_are_handed_out_before_they_begin() {
        let queue = queue();
        for i in 0..9 {
            queue.add(Key::new(&i.to_string()), Lane::Build);
        }
        let out: Vec<_> = std::iter::from_fn(|| queue.jobs().next().now_or_never().flatten()).collect();
        assert_eq!(out.len(), IN_HAND);
        // One that is gone makes room as one that begins does.
        queue.forget(&out[0]);
        assert!(queue.jobs().next().now_or_never().is_some());
    }
}
