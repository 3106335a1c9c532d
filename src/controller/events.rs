//! Events on TrainJobs, for `kubectl describe` and the Kubeflow SDK.
//!
//! Client. They are core/v1 Events with first and last timestamps, as the SDK sees no others. Sending is best
//! effort and off the path of a reconcile. The same thing said again raises the count of the same Event, at growing
//! intervals, so that a job that fails for days costs a few requests an hour.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::clock::Clock;
use super::error::{api_text, not_found};
use super::key::Guarded;
use super::metrics::Metrics;
use crate::api::{TrainJob, names};
use crate::k8s::path::FieldPath;

/// Longest message that the API takes, in bytes.
const LONGEST: usize = 1024;
/// Events that may wait to be sent.
const WAITING: usize = 512;
/// Events that are remembered, so that they are counted up.
const REMEMBERED: usize = 4096;
/// Shortest time between two writes of the same Event.
const FIRST_INTERVAL: Duration = Duration::from_secs(60);
/// Longest time between two writes of the same Event; the API server forgets one after an hour.
const LONGEST_INTERVAL: Duration = Duration::from_secs(1800);
/// Reason of the Event about a change that the JobSet does not allow any more.
const REASON_FROZEN: &str = "JobSetFieldsImmutable";

/// Reason of the Event about what is allowed and most likely not meant.
const REASON_WARNING: &str = "TrainJobWarning";

/// A message for the author of a job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Note {
    about: ObjectReference,
    reason: &'static str,
    message: String,
    /// Whether it is written once, however often it is noted.
    once: bool,
}

impl Note {
    /// The objects of the job could not be made, or not be changed.
    pub(crate) fn failure(job: &Guarded<TrainJob>, why: &str) -> Self {
        Self {
            about: reference(job.meta()),
            reason: names::condition::REASON_RESOURCES,
            message: cut(&format!(
                "Failed to create or update the objects of the TrainJob: {why}"
            )),
            once: false,
        }
    }

    /// The job runs, and something about it is most likely not meant so.
    pub(crate) fn warning(job: &TrainJob, text: &str) -> Self {
        Self {
            about: reference(&job.metadata),
            reason: REASON_WARNING,
            message: cut(text),
            once: true,
        }
    }

    /// The JobSet should be otherwise in these fields, and cannot be changed any more.
    pub(crate) fn frozen(job: &TrainJob, fields: &[FieldPath]) -> Self {
        let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
        let fields = fields.join(", ");
        Self {
            about: reference(&job.metadata),
            reason: REASON_FROZEN,
            message: cut(&format!(
                "The JobSet keeps these fields as they were when it was created, as JobSet does not let them change; \
                 delete the TrainJob and create it again to change them: {fields}"
            )),
            once: true,
        }
    }

    /// An object of the job should be otherwise, and the API server does not let it change.
    pub(crate) fn kept(job: &TrainJob, kind: &str, why: &str) -> Self {
        Self {
            about: reference(&job.metadata),
            reason: REASON_FROZEN,
            message: cut(&format!(
                "The {kind} stays as it was when it was created; delete the TrainJob and create it again to change it: \
                 {why}"
            )),
            once: true,
        }
    }
}

fn reference(job: &ObjectMeta) -> ObjectReference {
    ObjectReference {
        api_version: Some(names::API_VERSION.to_owned()),
        kind: Some(names::TRAIN_JOB.to_owned()),
        name: job.name.clone(),
        namespace: job.namespace.clone(),
        uid: job.uid.clone(),
        ..ObjectReference::default()
    }
}

/// Cuts a message to what the API takes.
fn cut(message: &str) -> String {
    const ELLIPSIS: &str = "…";
    if message.len() <= LONGEST {
        return message.to_owned();
    }
    let end = message.floor_char_boundary(LONGEST - ELLIPSIS.len());
    format!("{}{ELLIPSIS}", &message[..end])
}

/// Notes that are to be written.
pub(crate) struct Notes(mpsc::Receiver<Note>);

/// Takes notes from anywhere without waiting.
#[derive(Clone, Debug)]
pub(crate) struct Recorder {
    sender: mpsc::Sender<Note>,
    metrics: Metrics,
}

impl Recorder {
    /// Makes a recorder and what [`write`] reads from.
    pub(crate) fn new(metrics: Metrics) -> (Self, Notes) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self { sender, metrics }, Notes(receiver))
    }

    /// Queues a note; it is dropped when too many are waiting.
    pub(crate) fn send(&self, note: Note) {
        if self.sender.try_send(note).is_err() {
            self.metrics.event_dropped();
        }
    }
}

/// Writes what is noted until the last recorder is gone.
pub(crate) async fn write(client: Client, clock: Clock, Notes(mut notes): Notes) {
    let mut log = Log::default();
    while let Some(note) = notes.recv().await {
        let (write, at) = (log.add(&note, Instant::now()), clock.now());
        let result = match write {
            Write::Nothing => continue,
            Write::Create => create(&client, &note, at).await.map(Some),
            Write::Count { name, count } => match raise(&client, &note, &name, count, at).await {
                Err(error) if not_found(&error) => create(&client, &note, at).await.map(Some),
                other => other.map(|()| None),
            },
        };
        match result {
            Ok(Some(name)) => log.named(&note, name),
            Ok(None) => {}
            Err(error) => tracing::debug!(error = api_text(&error), "could not write an Event"),
        }
    }
}

/// What is to be written for a note.
#[derive(Debug, PartialEq)]
enum Write {
    Nothing,
    Create,
    Count { name: String, count: i32 },
}

/// What was noted before.
#[derive(Default)]
struct Log(HashMap<(Option<String>, &'static str, String), Noted>);

struct Noted {
    name: Option<String>,
    count: i32,
    written: Instant,
    interval: Duration,
}

impl Log {
    fn add(&mut self, note: &Note, now: Instant) -> Write {
        let key = (note.about.uid.clone(), note.reason, note.message.clone());
        if let Some(noted) = self.0.get_mut(&key) {
            noted.count = noted.count.saturating_add(1);
            if note.once || now < noted.written + noted.interval {
                return Write::Nothing;
            }
            noted.written = now;
            noted.interval = (noted.interval * 2).min(LONGEST_INTERVAL);
            let count = noted.count;
            return noted
                .name
                .clone()
                .map_or(Write::Create, |name| Write::Count { name, count });
        }
        if self.0.len() >= REMEMBERED {
            self.drop_oldest();
        }
        let noted = Noted {
            name: None,
            count: 1,
            written: now,
            interval: FIRST_INTERVAL,
        };
        self.0.insert(key, noted);
        Write::Create
    }

    fn named(&mut self, note: &Note, name: String) {
        let key = (note.about.uid.clone(), note.reason, note.message.clone());
        if let Some(noted) = self.0.get_mut(&key) {
            noted.name = Some(name);
        }
    }

    fn drop_oldest(&mut self) {
        let oldest = self
            .0
            .iter()
            .min_by_key(|(_, n)| n.written)
            .map(|(key, _)| key.clone());
        if let Some(oldest) = oldest {
            self.0.remove(&oldest);
        }
    }
}

async fn create(client: &Client, note: &Note, at: Timestamp) -> Result<String, kube::Error> {
    let about = note.about.clone();
    let namespace = about.namespace.clone().unwrap_or_default();
    let name = format!(
        "{}.{:x}",
        about.name.as_deref().unwrap_or_default(),
        at.as_nanosecond()
    );
    let event = Event {
        metadata: ObjectMeta {
            name: Some(name.clone()),
            namespace: Some(namespace.clone()),
            ..ObjectMeta::default()
        },
        involved_object: about,
        type_: Some("Warning".to_owned()),
        reason: Some(note.reason.to_owned()),
        action: Some("Reconciling".to_owned()),
        message: Some(note.message.clone()),
        source: Some(EventSource {
            component: Some(names::EVENT_SOURCE.to_owned()),
            host: None,
        }),
        reporting_component: Some(names::EVENT_SOURCE.to_owned()),
        first_timestamp: Some(Time(at)),
        last_timestamp: Some(Time(at)),
        count: Some(1),
        ..Event::default()
    };
    let api: Api<Event> = Api::namespaced(client.clone(), &namespace);
    api.create(&PostParams::default(), &event).await.map(|_| name)
}

async fn raise(
    client: &Client,
    note: &Note,
    name: &str,
    count: i32,
    at: Timestamp,
) -> Result<(), kube::Error> {
    let api: Api<Event> = Api::namespaced(
        client.clone(),
        note.about.namespace.as_deref().unwrap_or_default(),
    );
    let change = json!({"count": count, "lastTimestamp": Time(at)});
    api.patch(name, &PatchParams::default(), &Patch::Merge(&change))
        .await
        .map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(message: &str, once: bool) -> Note {
        Note {
            about: ObjectReference {
                uid: Some("u".to_owned()),
                ..ObjectReference::default()
            },
            reason: "R",
            message: message.to_owned(),
            once,
        }
    }

    #[test]
    fn the_same_note_is_counted_and_written_at_growing_intervals() {
        let (mut log, mut now, note) = (Log::default(), Instant::now(), note("a", false));
        assert_eq!(log.add(&note, now), Write::Create);
        log.named(&note, "n".to_owned());
        let mut writes = Vec::new();
        for i in 2..10_000 {
            now += Duration::from_secs(1);
            if let Write::Count { count, .. } = log.add(&note, now) {
                assert_eq!(count, i);
                writes.push(i - 1);
            }
        }
        assert_eq!(writes[..4], [60, 180, 420, 900]);
        assert_eq!(writes.len(), 9, "{writes:?}");
    }

    #[test]
    fn what_is_said_once_is_not_said_again() {
        let (mut log, now) = (Log::default(), Instant::now());
        assert_eq!(log.add(&note("a", true), now), Write::Create);
        assert_eq!(
            log.add(&note("a", true), now + Duration::from_secs(7200)),
            Write::Nothing
        );
        assert_eq!(log.add(&note("b", true), now), Write::Create);
    }

    #[test]
    fn an_event_that_could_not_be_created_is_tried_again_later() {
        let (mut log, now) = (Log::default(), Instant::now());
        assert_eq!(log.add(&note("a", false), now), Write::Create);
        assert_eq!(log.add(&note("a", false), now + FIRST_INTERVAL), Write::Create);
    }

    #[test]
    fn memory_is_bounded() {
        let (mut log, now) = (Log::default(), Instant::now());
        for i in 0..REMEMBERED + 10 {
            log.add(
                &note(&i.to_string(), false),
                now + Duration::from_millis(i as u64),
            );
        }
        assert_eq!(log.0.len(), REMEMBERED);
        assert_eq!(
            log.add(&note(&(REMEMBERED + 9).to_string(), false), now),
            Write::Nothing
        );
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let message = cut(&"ä".repeat(1000));
        assert!(
            message.len() <= LONGEST && message.len() > LONGEST - 4,
            "{}",
            message.len()
        );
        assert!(message.ends_with("ä…"));
        assert_eq!(cut("short"), "short");
    }
}
