//! The problems of an object, collected on a walk through it, and how values are shown in messages.

use serde_json::Value;

use crate::k8s::path::{FieldPath, Step};
use crate::k8s::problem::{Problem, Problems};

/// The problems found so far, and the path of the value that is being checked.
#[derive(Default)]
pub(super) struct Report {
    path: FieldPath,
    problems: Problems,
}

impl Report {
    /// Adds a problem of the current value.
    pub(super) fn add(&mut self, message: impl Into<String>) {
        self.problems.push(Problem::invalid(self.path.clone(), message));
    }

    /// Returns the number of problems so far.
    pub(super) fn len(&self) -> usize {
        self.problems.len()
    }

    /// Returns all problems, in the order in which they were found.
    pub(super) fn into_problems(self) -> Problems {
        self.problems
    }

    /// Runs `visit` on a field of the current value.
    pub(super) fn at_field(&mut self, name: &str, visit: impl FnOnce(&mut Self)) {
        self.below(Step::Field(name.to_owned()), visit);
    }

    /// Runs `visit` on an entry of the current map.
    pub(super) fn at_key(&mut self, key: &str, visit: impl FnOnce(&mut Self)) {
        self.below(Step::Key(key.to_owned()), visit);
    }

    /// Runs `visit` on an item of the current list.
    pub(super) fn at_index(&mut self, index: usize, visit: impl FnOnce(&mut Self)) {
        self.below(Step::Index(index), visit);
    }

    /// Runs `visit` on the value at a path below the current one.
    pub(super) fn at_path(&mut self, path: &FieldPath, visit: impl FnOnce(&mut Self)) {
        let below = self.path.clone().join(path);
        let here = std::mem::replace(&mut self.path, below);
        visit(self);
        self.path = here;
    }

    fn below(&mut self, step: Step, visit: impl FnOnce(&mut Self)) {
        self.path.push(step);
        visit(self);
        self.path.pop();
    }
}

/// Returns a value as a message shows it, cut where it is long.
pub(super) fn shown(value: &Value) -> String {
    const MAX: usize = 60;
    let text = value.to_string();
    if text.chars().count() <= MAX {
        return text;
    }
    let head: String = text.chars().take(MAX).collect();
    format!("{head}…")
}
