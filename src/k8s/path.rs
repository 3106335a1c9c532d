//! Paths of fields, as Kubernetes writes them in its errors: `spec.trainer.env[1].name`.

use std::fmt;

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// A field of an object.
    Field(String),
    /// An item of a list, by its index.
    Index(usize),
    /// An item of a list by its name, or an entry of a map whose keys are the users' own.
    Key(String),
}

impl Step {
    /// Returns the step to a member of an object. Names with dots and slashes are keys of a map.
    pub fn member(name: &str) -> Self {
        if name.contains(['.', '/']) {
            Self::Key(name.to_owned())
        } else {
            Self::Field(name.to_owned())
        }
    }

    /// Parses the first step of a path, and returns it with the rest.
    fn parse(path: &str) -> (Self, &str) {
        if let Some((inner, rest)) = path.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            let step = inner
                .parse()
                .map_or_else(|_| Self::Key(inner.to_owned()), Self::Index);
            return (step, rest);
        }
        let end = path.find(['.', '[']).filter(|_| !path.starts_with('['));
        let (name, rest) = path.split_at(end.unwrap_or(path.len()));
        (Self::Field(name.to_owned()), rest)
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => f.write_str(name),
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Key(key) => write!(f, "[{key}]"),
        }
    }
}

/// The path of a value within an object; empty for the object as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Vec<Step>);

impl FieldPath {
    /// Parses a path such as `spec.trainer.env[1]` or `metadata.labels[example.com/team]`. Two dots in a row make a
    /// field without a name, which stands for any steps in a search: `spec..name`.
    pub fn new(path: &str) -> Self {
        let mut steps = Vec::new();
        let mut rest = path;
        while !rest.is_empty() {
            let (step, after) = Step::parse(rest);
            steps.push(step);
            rest = after.strip_prefix('.').unwrap_or(after);
        }
        Self(steps)
    }

    /// Extends the path by a field, or by several: `template.spec`.
    #[must_use]
    pub fn field(&self, path: &str) -> Self {
        let mut steps = self.0.clone();
        steps.extend(path.split('.').map(|name| Step::Field(name.to_owned())));
        Self(steps)
    }

    /// Extends the path by the item at `index`.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.then(Step::Index(index))
    }

    /// Extends the path by the item, or the map entry, that is called `key`.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.then(Step::Key(key.to_owned()))
    }

    /// Extends the path by a step.
    #[must_use]
    pub fn then(&self, step: Step) -> Self {
        let mut path = self.clone();
        path.push(step);
        path
    }

    /// Extends the path by another one.
    #[must_use]
    pub fn join(mut self, rest: &Self) -> Self {
        self.0.extend_from_slice(&rest.0);
        self
    }

    /// Returns the path of the value that this one is in; `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, steps) = self.0.split_last()?;
        Some(Self(steps.to_vec()))
    }

    /// Adds a step in place, for walks.
    pub fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    /// Removes the last step in place.
    pub fn pop(&mut self) -> Option<Step> {
        self.0.pop()
    }

    /// Returns the steps from the root.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Reports whether this is the object as a whole.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Reports whether the path begins with `prefix`.
    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// Reports whether the steps of `part` follow each other somewhere in the path.
    pub fn contains(&self, part: &Self) -> bool {
        part.is_root() || self.0.windows(part.0.len()).any(|steps| steps == part.0)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, step) in self.0.iter().enumerate() {
            if at > 0 && matches!(step, Step::Field(_)) {
                f.write_str(".")?;
            }
            step.fmt(f)?;
        }
        Ok(())
    }
}

impl From<&str> for FieldPath {
    fn from(path: &str) -> Self {
        Self::new(path)
    }
}

impl From<String> for FieldPath {
    fn from(path: String) -> Self {
        Self::new(&path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_written_as_it_was_read() {
        for text in [
            "",
            "spec",
            "spec.trainer.env[1].name",
            "metadata.labels[example.com/team]",
            "spec.replicatedJobs[node].template.spec",
            "a[0][1].b",
        ] {
            assert_eq!(FieldPath::new(text).to_string(), text);
        }
        assert_eq!(
            FieldPath::new("a[b.c/d][2]").steps(),
            [
                Step::Field("a".to_owned()),
                Step::Key("b.c/d".to_owned()),
                Step::Index(2)
            ]
        );
    }

    #[test]
    fn two_dots_stand_for_any_steps() {
        let steps = |text: &str| FieldPath::new(text).steps().len();
        assert_eq!(steps("spec..name"), 3);
        assert_eq!(steps("spec.[node]"), 2);
    }

    #[test]
    fn a_part_is_found_by_whole_steps() {
        let path = FieldPath::new("spec.template.containers[node].env[A].value");
        assert!(path.contains(&FieldPath::new("env[A]")));
        assert!(path.contains(&FieldPath::new("containers[node].env")));
        assert!(!path.contains(&FieldPath::new("env.value")));
        assert!(!path.contains(&FieldPath::new("ainers[node]")));
    }
}
