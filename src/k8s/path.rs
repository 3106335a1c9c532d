//! Paths of fields, as Kubernetes writes them in its errors: `spec.trainer.env[1].name`.

use std::fmt;

/// Where in an object a value stands. Cheap to extend, cheap to compare, sorts as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(String);

impl FieldPath {
    /// Starts at a path that is already written, such as `spec.trainer`.
    pub fn new(path: impl Into<String>) -> Self {
        Self(path.into())
    }

    /// Goes into the member `name`.
    #[must_use]
    pub fn field(&self, name: &str) -> Self {
        if self.0.is_empty() {
            Self(name.to_owned())
        } else {
            Self(format!("{}.{name}", self.0))
        }
    }

    /// Goes into the item at `index`.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        Self(format!("{}[{index}]", self.0))
    }

    /// Goes into the item, or the map entry, that is called `key`.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }

    /// Reports whether this is the object as a whole.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Gives the path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for FieldPath {
    fn from(path: &str) -> Self {
        Self::new(path)
    }
}
