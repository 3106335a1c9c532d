//! What is wrong with an object: every problem at once, each with its field and what to write instead.
//!
//! One type for the schema, the plan and admission. Knows nothing of what makes an object wrong.

use std::fmt;

use super::path::FieldPath;

/// Why an object cannot be used: it decides whether waiting helps. The first of several reasons counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// A reference names a kind that does not exist, and never will.
    Unsupported,
    /// A reference names an object that does not exist yet.
    NotFound,
    /// An object that this one depends on cannot be read until somebody repairs it.
    Unreadable,
    /// An object of the name that is needed belongs to another owner until it is deleted.
    Foreign,
    /// The object's name is unsuitable. Names never change, so this matters only to a creation.
    Name,
    /// The author must change the object.
    Invalid,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field that is wrong; empty for the object as a whole.
    pub field: FieldPath,
    /// What is wrong with which value, and what to write instead.
    pub message: String,
    /// Whether waiting helps.
    pub reason: Reason,
}

impl Problem {
    /// Creates a problem that the author of the object must solve.
    pub fn invalid(field: impl Into<FieldPath>, message: impl Into<String>) -> Self {
        Self::new(Reason::Invalid, field, message)
    }

    /// Creates a problem with a reason.
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
        if self.field.is_root() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// All problems of an object, in the order in which they were found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// Adds a problem.
    pub fn push(&mut self, problem: Problem) {
        self.0.push(problem);
    }

    /// Reports whether nothing is wrong.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of problems.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Iterates over the problems in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Problem> {
        self.0.iter()
    }

    /// Returns the reason that decides what happens next; `None` if nothing is wrong.
    pub fn reason(&self) -> Option<Reason> {
        self.0.iter().map(|problem| problem.reason).min()
    }

    /// Returns the value of a check, or adds what it has found.
    pub fn collect<T>(&mut self, checked: Result<T, Self>) -> Option<T> {
        checked.map_err(|found| self.extend(found)).ok()
    }

    /// Returns `value` if nothing is wrong, else the problems.
    pub fn into_result<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl FromIterator<Problem> for Problems {
    fn from_iter<I: IntoIterator<Item = Problem>>(problems: I) -> Self {
        Self(problems.into_iter().collect())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_comes_decides_before_what_may_come_and_that_before_what_the_author_must_change() {
        let problems: Problems = [Reason::Invalid, Reason::NotFound, Reason::Unsupported]
            .map(|reason| Problem::new(reason, "spec", "no"))
            .into_iter()
            .collect();
        assert_eq!(problems.reason(), Some(Reason::Unsupported));
        assert_eq!(Problems::default().reason(), None);
    }

    #[test]
    fn a_problem_of_the_whole_object_names_no_field() {
        assert_eq!(
            Problem::invalid("", "must be an object").to_string(),
            "must be an object"
        );
        assert_eq!(
            Problem::invalid("spec", "is required").to_string(),
            "spec: is required"
        );
    }
}
