//! What is wrong with an object, where it is wrong, and how its values are shown.

use std::fmt::Write;

use serde_json::Value;

use crate::k8s::path::FieldPath;
use crate::k8s::problem::{Problem, Problems};

/// What is found on a walk through an object. The path grows on the way down and is cut on the way up.
#[derive(Default)]
pub(super) struct Report {
    path: String,
    problems: Problems,
}

impl Report {
    /// Notes a problem at the current place.
    pub(super) fn add(&mut self, message: impl Into<String>) {
        let field = FieldPath::new(self.path.clone());
        self.problems.push(Problem::invalid(field, message));
    }

    /// Gives the number of problems so far.
    pub(super) fn len(&self) -> usize {
        self.problems.len()
    }

    /// Gives all problems, in the order in which they were found.
    pub(super) fn into_problems(self) -> Problems {
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
