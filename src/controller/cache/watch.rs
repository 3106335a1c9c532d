//! Watches: TrainJobs, JobSets and runtimes, kept in memory, and a callback for each event.
//!
//! Client. Four kinds are watched, and two more from the first gang on. ConfigMaps are not, since a cluster may have many
//! large ones. A kind that the cluster does not serve is asked for again until it does.

use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

use futures::TryStreamExt;
use kube::runtime::reflector::{Store, store};
use kube::runtime::watcher::{self, Event, watcher};
use kube::runtime::{WatchStreamExt, reflector::store::Writer};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use crate::controller::error::{api_text, kind_missing};
use crate::controller::key::Guarded;

/// How a watch is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// The first list has not come yet.
    Starting,
    /// The store is complete, and follows.
    Listed,
    /// The cluster does not serve the kind.
    KindMissing,
    /// The first list failed for another reason.
    Failing(String),
}

/// The objects of a kind, and how their watch is doing.
pub(crate) struct Watched<K>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    /// The objects.
    pub store: Store<Guarded<K>>,
    state: watch::Receiver<State>,
}

/// What feeds a [`Watched`].
pub(crate) struct Feed<K>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Eq + Hash + Clone,
{
    writer: Writer<Guarded<K>>,
    state: watch::Sender<State>,
}

impl<K> Watched<K>
where
    K: Resource<DynamicType = ()> + Clone + 'static,
{
    /// Makes an empty store and what feeds it.
    pub(crate) fn new() -> (Self, Feed<K>) {
        let (reader, writer) = store();
        let (sender, receiver) = watch::channel(State::Starting);
        let watched = Self {
            store: reader,
            state: receiver,
        };
        (
            watched,
            Feed {
                writer,
                state: sender,
            },
        )
    }

    /// Returns how the watch is doing.
    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Waits until the store is complete, or cannot be because the kind does not exist or may not be read.
    pub(crate) async fn settled(&self) {
        let mut state = self.state.clone();
        // The sender lives as long as the watch; when it is gone the controller ends.
        let _ = state.wait_for(|s| *s != State::Starting).await;
    }
}

/// Follows all objects of a kind for ever. `trim` takes away what is not needed in memory; `on` sees each event
/// after the store has it.
pub(crate) async fn follow<K>(
    client: Client,
    feed: Feed<K>,
    trim: impl Fn(&mut K) + Send,
    mut on: impl FnMut(&Event<Guarded<K>>) + Send,
) where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let Feed { writer, state } = feed;
    let events = watcher(Api::<Guarded<K>>::all(client), watcher::Config::default())
        .modify(|object: &mut Guarded<K>| {
            object.meta_mut().managed_fields = None;
            if let Ok(object) = &mut object.0 {
                trim(object);
            }
        })
        .reflect(writer);
    let mut events = std::pin::pin!(events);
    // Each try begins with an event, so only a list that has come ends a row of failures.
    let mut pace = Pace::default();
    loop {
        match events.try_next().await {
            Ok(Some(event)) => {
                if matches!(event, Event::InitDone) {
                    pace = Pace::default();
                    listed::<K>(&state);
                }
                on(&event);
            }
            Ok(None) => return,
            Err(error) => {
                failed::<K>(&state, &error);
                tokio::time::sleep(pace.next()).await;
            }
        }
    }
}

fn listed<K: Resource<DynamicType = ()>>(state: &watch::Sender<State>) {
    let before = state.send_replace(State::Listed);
    if before != State::Listed {
        tracing::info!(kind = %K::kind(&()), "watching");
    }
}

fn failed<K: Resource<DynamicType = ()>>(state: &watch::Sender<State>, error: &watcher::Error) {
    let (kind, api_version) = (K::kind(&()), K::api_version(&()));
    let cause = match error {
        watcher::Error::InitialListFailed(e) | watcher::Error::WatchStartFailed(e) => Some(e),
        _ => None,
    };
    let before = state.borrow().clone();
    if cause.is_some_and(kind_missing) {
        state.send_replace(State::KindMissing);
        if before != State::KindMissing {
            tracing::error!(%kind, %api_version, "the cluster does not serve this kind; work starts once it is installed");
        }
        return;
    }
    let why = cause.map_or_else(|| error.to_string(), api_text);
    if before == State::Failing(why.clone()) {
        return;
    }
    tracing::warn!(%kind, error = %why, "watch failed, it is tried again");
    let refused = matches!(cause, Some(kube::Error::Api(status)) if status.code == 403);
    if before != State::Listed && refused {
        state.send_replace(State::Failing(why));
    }
}

/// How fast a failed watch is tried again: soon at first, then every few seconds, so that a kind that is installed
/// later is found without much delay.
#[derive(Default)]
struct Pace {
    failures: u32,
}

impl Pace {
    fn next(&mut self) -> Duration {
        let delay = Duration::from_millis(250).saturating_mul(2_u32.saturating_pow(self.failures));
        self.failures = self.failures.saturating_add(1);
        delay.min(Duration::from_secs(5))
    }
}
