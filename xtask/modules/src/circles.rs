//! Which modules import each other, directly or through others.
//!
//! An edge leads to the module that *defines* what is named: a module that only passes names on with `pub use` neither
//! hides a circle nor makes one. `mod child;` is no edge.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use petgraph::algo::tarjan_scc;
use petgraph::graphmap::DiGraphMap;

use crate::Sources;

/// What a module uses of another: from, to, and each name with the first line that it is in.
type Edges = BTreeMap<(String, String), BTreeMap<String, usize>>;

/// Modules each of which imports all the others, if not directly.
pub struct Circle {
    modules: BTreeSet<String>,
    edges: Edges,
}

impl Circle {
    /// Returns the modules of the circle, such as `plan::draft`.
    pub fn modules(&self) -> Vec<&str> {
        self.modules.iter().map(String::as_str).collect()
    }
}

impl fmt::Display for Circle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let modules = self.modules();
        writeln!(f, "{} modules: {}", modules.len(), modules.join(", "))?;
        for ((from, to), uses) in &self.edges {
            let uses: Vec<String> = uses
                .iter()
                .map(|(name, line)| format!("{name} (line {line})"))
                .collect();
            writeln!(f, "  {from} -> {to}: {}", uses.join(", "))?;
        }
        Ok(())
    }
}

/// Lists the circles between the modules of a crate, the largest first.
pub fn circles(sources: &Sources) -> Vec<Circle> {
    let edges = edges(sources);
    let graph: DiGraphMap<&str, ()> = edges
        .keys()
        .map(|(from, to)| (from.as_str(), to.as_str()))
        .collect();
    let mut circles: Vec<Circle> = tarjan_scc(&graph)
        .into_iter()
        .filter(|modules| modules.len() > 1)
        .map(|modules| {
            let inside = |name: &str| modules.contains(&name);
            Circle {
                edges: edges
                    .iter()
                    .filter(|((from, to), _)| inside(from) && inside(to))
                    .map(|(edge, uses)| (edge.clone(), uses.clone()))
                    .collect(),
                modules: modules.into_iter().map(str::to_owned).collect(),
            }
        })
        .collect();
    circles.sort_by(|a, b| (b.modules.len().cmp(&a.modules.len())).then_with(|| a.modules.cmp(&b.modules)));
    circles
}

fn edges(sources: &Sources) -> Edges {
    let mut edges = Edges::new();
    for (from, module) in &sources.modules {
        for import in module.imports.iter().filter(|import| !import.reexport) {
            let Some(to) = sources.origin(&import.path).filter(|to| to != from) else {
                continue;
            };
            let name = import.path.last().map_or("crate", String::as_str);
            edges
                .entry((from.join("::"), to.join("::")))
                .or_default()
                .entry(name.to_owned())
                .and_modify(|first| *first = import.line.min(*first))
                .or_insert(import.line);
        }
    }
    edges
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
        circles(&Sources::of_texts(files))
            .iter()
            .map(|circle| circle.modules().join(" "))
            .collect()
    }

    #[test]
    fn modules_that_import_each_other_are_a_circle() {
        let found = circles_of(&[
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use crate::b::B;"),
            ("b.rs", "fn f() { crate::c::g() }"),
            ("c.rs", "struct C(super::a::A); use super::d::D;"),
            ("d.rs", ""),
        ]);
        assert_eq!(found, ["a b c"]);
    }

    #[test]
    fn a_module_that_passes_on_what_its_children_define_makes_no_circle() {
        let found = circles_of(&[
            ("lib.rs", "mod a;"),
            (
                "a/mod.rs",
                "mod b; mod c; pub use b::B; pub(crate) use self::c::C as D;",
            ),
            ("a/b.rs", "use super::D;"),
            ("a/c.rs", ""),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }

    #[test]
    fn a_name_that_is_passed_on_hides_no_circle() {
        let found = circles_of(&[
            ("lib.rs", "mod a;"),
            ("a/mod.rs", "mod b; mod c; pub use b::B; pub use c::C;"),
            ("a/b.rs", "use super::C;"),
            ("a/c.rs", "use super::B;"),
        ]);
        assert_eq!(found, ["a::b a::c"]);
    }

    #[test]
    fn a_child_that_uses_what_its_user_defines_makes_a_circle() {
        let found = circles_of(&[
            ("lib.rs", "mod a;"),
            (
                "a/mod.rs",
                "mod b; pub use b::B; fn list() -> Vec<B> {} trait A {}",
            ),
            ("a/b.rs", "use super::A;"),
        ]);
        assert_eq!(found, ["a a::b"]);
    }

    #[test]
    fn tests_make_no_circle() {
        let found = circles_of(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "#[cfg(test)] mod tests { use crate::b::B; }"),
            ("b.rs", "use crate::a::A;"),
        ]);
        assert!(found.is_empty(), "{found:?}");
    }
}
