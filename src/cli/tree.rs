//! Prints values as a tree of their paths.

use std::fmt;

/// A tree whose leaves are lines of text. Branches keep the order of insertion.
#[derive(Debug, Default)]
pub(super) struct Tree {
    line: Option<String>,
    branches: Vec<(String, Tree)>,
}

impl Tree {
    /// Inserts a line at a path.
    pub(super) fn insert(&mut self, steps: &[impl AsRef<str>], line: String) {
        let Some((step, rest)) = steps.split_first() else {
            self.line = Some(line);
            return;
        };
        let at = self.branches.iter().position(|(name, _)| name == step.as_ref());
        let at = at.unwrap_or_else(|| {
            self.branches.push((step.as_ref().to_owned(), Self::default()));
            self.branches.len() - 1
        });
        self.branches[at].1.insert(rest, line);
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        for (name, branch) in &self.branches {
            let mut label = name.clone();
            let mut branch = branch;
            while let (None, Some((step, next))) = (&branch.line, branch.only_branch(&label)) {
                // `env[A].value` is shown as `env[A]`.
                if !(step == "value" && label.ends_with(']')) {
                    label.push('.');
                    label.push_str(step);
                }
                branch = next;
            }
            write!(f, "{:width$}{label}", "", width = 2 * (depth + 1))?;
            match &branch.line {
                Some(line) => writeln!(f, ": {line}")?,
                None => writeln!(f)?,
            }
            branch.write(f, depth + 1)?;
        }
        Ok(())
    }

    /// Returns the only branch. The name of an item does not count, since its label has it.
    fn only_branch(&self, label: &str) -> Option<(&str, &Tree)> {
        let said = |name: &str| name == "name" && label.ends_with(']');
        let mut rest = self.branches.iter().filter(|(name, _)| !said(name));
        match (rest.next(), rest.next()) {
            (Some((name, branch)), None) => Some((name, branch)),
            _ => None,
        }
    }
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_without_forks_is_one_line() {
        let mut tree = Tree::default();
        for path in [
            &["a", "b", "c"][..],
            &["a", "b", "d"],
            &["env[A]", "name"],
            &["env[A]", "value"],
            &["env[B]", "name"],
            &["env[B]", "from", "x"],
            &["e"],
        ] {
            tree.insert(path, path.len().to_string());
        }
        assert_eq!(
            tree.to_string(),
            "  a.b\n    c: 3\n    d: 3\n  env[A]: 2\n  env[B].from.x: 3\n  e: 1\n"
        );
    }
}
