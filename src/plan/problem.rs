//! What is wrong with a job: all of it at once, each with its field and the way out.

use std::fmt;

use crate::k8s::path::FieldPath;

/// Why a job cannot be built. It labels metrics and decides what the controller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The object must be changed by its author.
    Invalid,
    /// The kind in `runtimeRef` is not one that exists; the job can never run.
    RuntimeNotSupported,
    /// The runtime does not exist; it may still come.
    RuntimeNotFound,
    /// The snapshot belongs to another job, or cannot be read; it may still go away.
    Snapshot,
    /// A JobSet of the job's name belongs to something else; it may still go away.
    Foreign,
}

impl Reason {
    /// Gives the reason as a metric label.
    pub fn label(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::RuntimeNotSupported => "runtime_not_supported",
            Self::RuntimeNotFound => "runtime_not_found",
            Self::Snapshot => "snapshot",
            Self::Foreign => "foreign",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where it is wrong.
    pub field: FieldPath,
    /// What was found and what to do about it.
    pub message: String,
    /// What kind of trouble it is.
    pub reason: Reason,
}

impl Problem {
    /// Makes a problem that the author of the object must mend.
    pub fn invalid(field: impl Into<FieldPath>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
            reason: Reason::Invalid,
        }
    }

    /// Makes a problem of another kind.
    pub fn new(reason: Reason, field: impl Into<FieldPath>, message: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            message: message.into(),
            reason,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// All that is wrong, in the order it was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Adds one.
    pub fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// Tells whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Goes through them in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }

    /// Gives the reason that decides what happens next: an unknown kind before anything that may still come, and
    /// those before what only the author can mend.
    pub fn reason(&self) -> Option<Reason> {
        let first = |wanted: Reason| self.0.iter().any(|p| p.reason == wanted).then_some(wanted);
        first(Reason::RuntimeNotSupported)
            .or_else(|| first(Reason::RuntimeNotFound))
            .or_else(|| first(Reason::Snapshot))
            .or_else(|| first(Reason::Foreign))
            .or_else(|| first(Reason::Invalid))
    }

    /// Ends a check: `value` when nothing is wrong.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl Extend<Problem> for Problems {
    fn extend<I: IntoIterator<Item = Problem>>(&mut self, problems: I) {
        self.0.extend(problems);
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Problems {
    type Item = &'a Problem;
    type IntoIter = std::slice::Iter<'a, Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}
