//! What can go wrong, sorted into the few classes that decide what happens next.
//!
//! No client. The class is the label of the error metric, decides whether the author of the job is told, and how
//! soon the job is tried again.

use std::time::Duration;

use kube::core::Status;

use crate::api::names::condition;
use crate::k8s::path::FieldPath;
use crate::k8s::problem::{Problems, Reason};
use crate::plan::Served;

/// Why a job could not be brought to where it should be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// The stored object is not a TrainJob.
    #[error("TrainJob cannot be read: {0}")]
    Unreadable(String),
    /// Another object that the job needs cannot be read.
    #[error("{what} cannot be read: {why}")]
    UnreadableOther {
        /// Kind and name of the object.
        what: String,
        /// What the parser says.
        why: String,
    },
    /// The job, its runtime or its snapshot is not right.
    #[error("{0}")]
    Refused(Problems),
    /// An object of the name that the job needs belongs to someone else.
    #[error(
        "{kind} {name} exists and does not belong to this TrainJob: rename the TrainJob, or delete that {kind}"
    )]
    Foreign {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
    },
    /// An object of an earlier TrainJob of the same name is about to be collected.
    #[error("{kind} {name} belongs to an earlier TrainJob of this name; waiting until it is deleted")]
    Predecessor {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
    },
    /// The job's JobSet is gone, and nobody saw whether it had ended.
    #[error(
        "the JobSet is gone and it is not known whether it had ended, so the job does not run a second time: create a new \
         TrainJob to run it again"
    )]
    JobSetLost,
    /// The API server does not know a kind that the job needs.
    #[error(
        "the cluster does not serve {kind} ({api_version}): {}, the job starts as soon as it is there",
        to_be_served(*served)
    )]
    KindMissing {
        /// The kind.
        kind: String,
        /// Its API version.
        api_version: String,
        /// How it is served where it is.
        served: Served,
    },
    /// The API server takes an object, but not all that it says.
    #[error(
        "the API server drops {field} of {kind} {name}: switch on the feature that it belongs to, or remove what asks \
         for it from the podGroupPolicy of the runtime"
    )]
    Dropped {
        /// Kind of the object.
        kind: String,
        /// Name of the object.
        name: String,
        /// What is dropped.
        field: FieldPath,
    },
    /// The JobSet that is installed is older than a field that is used.
    #[error(
        "the JobSet that the cluster serves does not know {field}: install a newer JobSet, or remove from the runtime \
         what asks for the field"
    )]
    OldJobSet {
        /// What it does not know.
        field: String,
    },
    /// A call of the API server went wrong.
    #[error("cannot {doing}")]
    Api {
        /// What was tried, such as `create JobSet a`.
        doing: String,
        /// What came back.
        source: Box<kube::Error>,
    },
    /// The reconcile took too long and was given up.
    #[error("gave up after {} s", .0.as_secs())]
    TimedOut(Duration),
    /// The reconcile panicked, or met what cannot be.
    #[error("internal error, please report it: {0}")]
    Internal(String),
}

/// What kind of trouble an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// The author of the job, or of its runtime, must change something.
    Invalid,
    /// The job can never run.
    Impossible,
    /// Something that the job needs is not there yet.
    Waiting,
    /// The API server refuses a request for good.
    Rejected,
    /// Someone else changed the object first.
    Conflict,
    /// The namespace is going away, and the job with it.
    Leaving,
    /// The API server has trouble, or is too busy.
    Unavailable,
    /// A defect of this program.
    Internal,
}

impl Class {
    /// Returns the class as a metric label.
    pub(crate) fn label(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::Impossible => "impossible",
            Self::Waiting => "waiting",
            Self::Rejected => "rejected",
            Self::Conflict => "conflict",
            Self::Leaving => "leaving",
            Self::Unavailable => "unavailable",
            Self::Internal => "internal",
        }
    }

    /// Reports whether the error is about the job, so that its author must see it in status and Events.
    pub(crate) fn concerns_author(self) -> bool {
        match self {
            Self::Invalid | Self::Impossible | Self::Waiting | Self::Rejected | Self::Internal => true,
            Self::Conflict | Self::Leaving | Self::Unavailable => false,
        }
    }
}

impl Error {
    /// Sorts the error.
    pub(crate) fn class(&self) -> Class {
        match self {
            Self::Unreadable(_) | Self::UnreadableOther { .. } => Class::Invalid,
            Self::Refused(problems) => match problems.reason() {
                Some(Reason::Unsupported) => Class::Impossible,
                Some(Reason::NotFound | Reason::Unreadable | Reason::Foreign) => Class::Waiting,
                Some(Reason::Name | Reason::Invalid) | None => Class::Invalid,
            },
            Self::Foreign { .. }
            | Self::KindMissing { .. }
            | Self::Dropped { .. }
            | Self::OldJobSet { .. } => Class::Waiting,
            Self::Predecessor { .. } => Class::Conflict,
            Self::JobSetLost => Class::Impossible,
            Self::Api { source, .. } => class_of(source),
            Self::TimedOut(_) => Class::Unavailable,
            Self::Internal(_) => Class::Internal,
        }
    }

    /// Returns the reason of the condition `Failed` that an impossible job gets.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::JobSetLost => condition::REASON_JOBSET_LOST,
            _ => condition::REASON_RUNTIME_NOT_SUPPORTED,
        }
    }

    /// How long the API server asked to be left alone.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        let Self::Api { source, .. } = self else {
            return None;
        };
        let kube::Error::Api(status) = &**source else {
            return None;
        };
        let seconds = status.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }

    /// Says the whole of it in one line, for people.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Api { source, .. } => format!("{self}: {}", api_text(source)),
            other => other.to_string(),
        }
    }
}

/// Says what to do so that the cluster serves a kind.
fn to_be_served(served: Served) -> String {
    match served {
        Served::Whole => "install it".to_owned(),
        Served::Gated { needs } => format!("it needs {needs}"),
    }
}

/// Adds to an error of the API server what was tried.
pub(crate) trait Doing<T> {
    /// Names what was tried, such as `create JobSet a`; it is put behind "cannot".
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T> Doing<T> for Result<T, kube::Error> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|source| Error::Api {
            doing: what(),
            source: Box::new(source),
        })
    }
}

/// Reports whether the API server does not serve the kind: then its 404 names no object.
pub(crate) fn kind_missing(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => {
            status.code == 404 && status.details.as_ref().is_none_or(|d| d.name.is_empty())
        }
        _ => false,
    }
}

/// Returns the first field that the schema of a kind does not have. The API server names it when a field must be known.
pub(crate) fn unknown_field(error: &kube::Error) -> Option<String> {
    let kube::Error::Api(status) = error else {
        return None;
    };
    let (_, after) = status.message.split_once("unknown field \"")?;
    let (field, _) = after.split_once('"')?;
    Some(field.to_owned())
}

/// Reports whether the object does not exist.
pub(crate) fn not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 404)
}

/// Says what came back, in the API server's own words where it spoke.
pub(crate) fn api_text(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error {
        return status.message.clone();
    }
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

fn class_of(error: &kube::Error) -> Class {
    match error {
        kube::Error::Api(status) => class_of_status(status),
        kube::Error::SerdeError(_) => Class::Rejected,
        kube::Error::BuildRequest(_) | kube::Error::HttpError(_) => Class::Internal,
        _ => Class::Unavailable,
    }
}

fn class_of_status(status: &Status) -> Class {
    let details = status.details.as_ref();
    let namespace_ends = details.is_some_and(|d| {
        d.causes.iter().any(|c| c.reason == "NamespaceTerminating")
            || (status.code == 404 && d.kind == "namespaces")
    });
    match status.code {
        _ if namespace_ends => Class::Leaving,
        404 | 409 => Class::Conflict,
        400 | 402..=407 | 410..=428 => Class::Rejected,
        _ => Class::Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn refused(code: u16, details: Value) -> Error {
        let status = Status::failure("no", "Whatever")
            .with_code(code)
            .with_details(serde_json::from_value(details).unwrap());
        Err::<(), _>(kube::Error::Api(status.boxed()))
            .doing(|| "create JobSet a".to_owned())
            .unwrap_err()
    }

    #[test]
    fn answers_of_the_api_server_are_sorted_by_their_code() {
        let class = |code| refused(code, json!({"name": "a"})).class();
        assert_eq!(class(409), Class::Conflict);
        assert_eq!(class(404), Class::Conflict);
        assert_eq!(class(403), Class::Rejected);
        assert_eq!(class(422), Class::Rejected);
        for code in [401, 408, 429, 500, 502, 503, 504] {
            assert_eq!(class(code), Class::Unavailable, "{code}");
        }
    }

    #[test]
    fn a_namespace_on_its_way_out_is_no_fault_of_the_job() {
        let details = json!({"causes": [{"reason": "NamespaceTerminating"}]});
        assert_eq!(refused(403, details).class(), Class::Leaving);
    }

    #[test]
    fn the_time_that_the_api_server_asks_for_is_read() {
        let details = json!({"retryAfterSeconds": 7});
        assert_eq!(refused(429, details).retry_after(), Some(Duration::from_secs(7)));
        assert_eq!(refused(429, json!({})).retry_after(), None);
    }

    #[test]
    fn a_field_that_the_schema_does_not_have_is_found_in_the_answer() {
        let answer = |message: &str| {
            let status = Status::failure(message, "BadRequest").with_code(400);
            unknown_field(&kube::Error::Api(status.boxed()))
        };
        let message = "JobSet in version \"v1alpha2\" cannot be handled as a JobSet: strict decoding error: \
                       unknown field \"spec.replicatedJobs[0].x\", unknown field \"spec.y\"";
        assert_eq!(answer(message).as_deref(), Some("spec.replicatedJobs[0].x"));
        assert_eq!(answer("no"), None);
    }

    #[test]
    fn the_text_is_one_line_in_the_words_of_the_api_server() {
        assert_eq!(refused(422, json!({})).text(), "cannot create JobSet a: no");
    }
}
