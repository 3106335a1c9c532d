//! What is wrong with an object, where it is wrong, and how its values are shown.

use std::fmt::{self, Write};

use serde_json::Value;

/// One thing that the API server would refuse.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Problem {
    /// Where it is wrong, as Kubernetes writes it: `spec.trainer.env[1]`, `metadata.labels[a.io/b]`; empty for the
    /// object as a whole.
    pub field: String,
    /// What was found and what to do about it.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// What is found on a walk through an object. The path grows on the way down and is cut on the way up.
#[derive(Default)]
pub(super) struct Report {
    path: String,
    problems: Vec<Problem>,
}

impl Report {
    /// Notes a problem at the current place.
    pub(super) fn add(&mut self, message: impl Into<String>) {
        self.problems.push(Problem {
            field: self.path.clone(),
            message: message.into(),
        });
    }

    /// Gives the number of problems so far.
    pub(super) fn len(&self) -> usize {
        self.problems.len()
    }

    /// Gives all problems, in the order in which they were found.
    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    /// Runs `visit` one field further down.
    pub(super) fn at_field(&mut self, name: &str, visit: impl FnOnce(&mut Self)) {
        let end = self.path.len();
        if end > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        self.back_to(end, visit);
    }

    /// Runs `visit` at a key of a map.
    pub(super) fn at_key(&mut self, key: &str, visit: impl FnOnce(&mut Self)) {
        let end = self.path.len();
        self.path.push('[');
        self.path.push_str(key);
        self.path.push(']');
        self.back_to(end, visit);
    }

    /// Runs `visit` at an item of a list.
    pub(super) fn at_index(&mut self, index: usize, visit: impl FnOnce(&mut Self)) {
        let end = self.path.len();
        // Writing to a String cannot fail.
        let _ = write!(self.path, "[{index}]");
        self.back_to(end, visit);
    }

    fn back_to(&mut self, end: usize, visit: impl FnOnce(&mut Self)) {
        visit(self);
        self.path.truncate(end);
    }
}

/// Shows a value within a message, cut where it is long.
pub(super) fn shown(value: &Value) -> String {
    const MAX: usize = 60;
    let text = value.to_string();
    if text.chars().count() <= MAX {
        return text;
    }
    let head: String = text.chars().take(MAX).collect();
    format!("{head}…")
}
