//! What the first name of a path refers to, in one module. Does not know other modules.

use std::collections::{BTreeMap, BTreeSet};

use crate::paths::{Usage, Written};

/// A path from the crate's root, such as `plan`, `draft`, `Draft`; the root itself is empty.
pub(crate) type Path = Vec<String>;

/// The names of a module that lead to other modules of the crate.
pub(crate) struct Names {
    /// What `main.rs` calls `lib.rs`.
    library: String,
    root: Path,
    module: Path,
    children: BTreeSet<String>,
    bound: BTreeMap<String, Path>,
}

impl Names {
    pub(crate) fn new(library: &str, root: &[String], module: &[String], children: BTreeSet<String>) -> Self {
        Self {
            library: library.to_owned(),
            root: root.to_vec(),
            module: module.to_vec(),
            children,
            bound: BTreeMap::new(),
        }
    }

    /// Adds the names that `use` binds. One may begin with a name that a later one binds, so they are read until
    /// nothing is added.
    pub(crate) fn bind(&mut self, written: &[Written]) {
        loop {
            let before = self.bound.len();
            for one in written {
                if let Usage::Import(name) | Usage::Reexport(name) = &one.usage
                    && let Some(path) = self.resolve(&one.path)
                {
                    self.bound.insert(name.clone(), path);
                }
            }
            if self.bound.len() == before {
                return;
            }
        }
    }

    /// Returns the path that a `use` binds to a name.
    pub(crate) fn bound(&self, name: &str) -> Option<&Path> {
        self.bound.get(name)
    }

    /// Returns the path from the crate's root; `None` for other crates, and for what the module itself defines.
    pub(crate) fn resolve(&self, written: &[String]) -> Option<Path> {
        let (first, mut rest) = written.split_first()?;
        let mut path = match first.as_str() {
            "crate" => self.root.clone(),
            "self" => self.module.clone(),
            "super" => {
                let mut path = self.parent(&self.module)?;
                while let Some(("super", more)) = rest.split_first().map(|(next, more)| (next.as_str(), more))
                {
                    path = self.parent(&path)?;
                    rest = more;
                }
                path
            }
            // The library does not call itself by name: there it is a variable.
            name if name == self.library && !self.root.is_empty() => Path::new(),
            name => {
                if let Some(path) = self.bound.get(name) {
                    path.clone()
                } else if self.children.contains(name) && !rest.is_empty() {
                    [self.module.as_slice(), &[name.to_owned()]].concat()
                } else {
                    return None;
                }
            }
        };
        path.extend_from_slice(rest);
        Some(path)
    }

    fn parent(&self, path: &[String]) -> Option<Path> {
        (path.len() > self.root.len()).then(|| path[..path.len() - 1].to_vec())
    }
}
