//! Rules about who may import whom, and the imports that break them.
//!
//! An entry of a rule that no import needs is a problem too: it would allow an import that nobody has thought about.

use std::collections::BTreeSet;

use crate::Sources;
use crate::sources::{Import, Module};

/// Each top-level module, and the top-level modules that it may import.
pub struct Layers<'a>(pub &'a [(&'a str, &'a [&'a str])]);

impl Layers<'_> {
    /// Lists the imports that the table does not allow, and the entries that no import needs.
    pub fn problems(&self, sources: &Sources) -> Vec<String> {
        let mut problems = Vec::new();
        let mut used = BTreeSet::new();
        for (path, module) in &sources.modules {
            // The root only declares the others.
            let Some(layer) = path.first() else { continue };
            let Some((layer, allowed)) = self.0.iter().find(|(name, _)| name == layer) else {
                problems.push(format!("{}: {layer} is not in the table of layers", module.file));
                continue;
            };
            for import in &module.imports {
                let target = import.path.first().map_or("lib", String::as_str);
                if let Some(other) = allowed.iter().find(|other| **other == target) {
                    used.insert((*layer, *other));
                } else if target != *layer {
                    problems.push(forbidden(module, import, layer, target));
                }
            }
        }
        for (layer, allowed) in self.0 {
            for other in allowed.iter().filter(|other| !used.contains(&(*layer, **other))) {
                problems.push(format!(
                    "{layer} does not import {other}: remove it from the table of layers"
                ));
            }
        }
        problems
    }
}

/// Modules whose children, all together, must not import each other, so that each can be read, added and removed alone.
pub struct Peers<'a>(pub &'a [&'a str]);

impl Peers<'_> {
    /// Lists the imports of one peer by another, and the parents without children.
    pub fn problems(&self, sources: &Sources) -> Vec<String> {
        let mut problems = Vec::new();
        for (path, module) in &sources.modules {
            let Some(peer) = self.peer(path) else { continue };
            for import in &module.imports {
                let origin = sources.origin(&import.path);
                let other = origin.and_then(|path| self.peer(&path));
                if let Some(other) = other.filter(|other| *other != peer) {
                    problems.push(forbidden(module, import, &peer, &other));
                }
            }
        }
        for parent in self.0 {
            let below = format!("{parent}::");
            let children = sources
                .modules
                .keys()
                .filter(|path| path.join("::").starts_with(&below));
            if children.count() == 0 {
                problems.push(format!(
                    "{parent} has no modules: remove it from the parents of peers"
                ));
            }
        }
        problems
    }

    /// Returns the child of one of the parents that a path leads to or into.
    fn peer(&self, path: &[String]) -> Option<String> {
        let path = path.join("::");
        self.0.iter().find_map(|parent| {
            let below = path.strip_prefix(parent)?.strip_prefix("::")?;
            let child = below.split("::").next()?;
            Some(format!("{parent}::{child}"))
        })
    }
}

fn forbidden(module: &Module, import: &Import, from: &str, to: &str) -> String {
    format!(
        "{}:{}: {from} must not import {to}, got {}",
        module.file,
        import.line,
        import.path.join("::")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYERS: Layers<'_> = Layers(&[
        ("api", &[]),
        ("k8s", &[]),
        ("plan", &["api"]),
        ("status", &["api"]),
        ("main", &["status"]),
    ]);
    const PEERS: Peers<'_> = Peers(&["plan::frameworks", "plan::gang"]);

    /// A crate that keeps the rules, with a line added to one file.
    fn with(file: &str, line: &str) -> Sources {
        let mut files = [
            (
                "lib.rs",
                "pub mod api; pub mod k8s; pub mod plan; pub mod status;".to_owned(),
            ),
            ("main.rs", "fn main() { library::status::run() }".to_owned()),
            ("api.rs", "pub struct Api;".to_owned()),
            ("k8s.rs", String::new()),
            (
                "plan/mod.rs",
                "mod frameworks; mod gang; use crate::api::Api;".to_owned(),
            ),
            (
                "plan/frameworks/mod.rs",
                "mod jax; mod torch; pub use jax::Jax; use super::gang;".to_owned(),
            ),
            ("plan/frameworks/jax.rs", "pub struct Jax;".to_owned()),
            ("plan/frameworks/torch.rs", String::new()),
            ("plan/gang/mod.rs", "mod sum; mod volcano;".to_owned()),
            ("plan/gang/sum.rs", String::new()),
            ("plan/gang/volcano.rs", "use super::Gang;".to_owned()),
            ("status.rs", "use crate::api::Api;".to_owned()),
        ];
        let (_, text) = files.iter_mut().find(|(name, _)| *name == file).unwrap();
        text.push_str(line);
        Sources::of_texts(&files.each_ref().map(|(file, text)| (*file, text.as_str())))
    }

    #[track_caller]
    fn refuses(problems: &[String], start: &str) {
        assert!(
            problems.len() == 1 && problems[0].starts_with(start),
            "{start}: {problems:?}"
        );
    }

    #[test]
    fn a_crate_that_keeps_the_rules_has_no_problems() {
        let sources = with("k8s.rs", "");
        assert_eq!(LAYERS.problems(&sources), [""; 0]);
        assert_eq!(PEERS.problems(&sources), [""; 0]);
    }

    #[test]
    fn every_way_to_import_a_forbidden_layer_is_found() {
        for line in [
            "use crate::api;",
            "use crate::api::Api;",
            "use crate::{api::Api as Other};",
            "use super::api::Api;",
            "pub use crate::api::Api;",
            "fn f() { use crate::api::Api; }",
            "fn f() { crate::api::f() }",
            "fn f(a: super::api::Api) {}",
            "impl crate::api::Read for u8 {}",
            "struct A { #[serde(with = \"crate::api::time\")] at: u8 }",
            "fn f() { format!(\"{}\", crate::api::NAME) }",
            "mod inner { fn f() { super::super::api::f() } }",
            "macro_rules! m { () => { $crate::api::f() } }",
        ] {
            refuses(
                &LAYERS.problems(&with("k8s.rs", line)),
                "k8s.rs:1: k8s must not import api, got api",
            );
        }
    }

    #[test]
    fn names_that_begin_elsewhere_are_followed() {
        for line in [
            "use super::super::super::status::observe;",
            "use crate::status as other; fn f() { other::observe() }",
            "use crate::{k8s::{self, path}, api};",
        ] {
            let problems = LAYERS.problems(&with("plan/frameworks/torch.rs", line));
            assert!(!problems.is_empty(), "{line}");
        }
        refuses(
            &LAYERS.problems(&with("status.rs", "use crate::plan::plan;")),
            "status.rs:1: status must not import plan, got plan::plan",
        );
        refuses(
            &LAYERS.problems(&with("main.rs", "use library::{plan};")),
            "main.rs:1: main must not import plan, got plan",
        );
    }

    #[test]
    fn what_is_no_import_is_not_found() {
        for line in [
            "// crate::api\n/* crate::api */ const A: &str = \"crate::api\";",
            "#[cfg(test)] mod tests { use crate::api::Api; }",
            "#[cfg(test)] use crate::api::Api;",
            "pub(in crate::k8s) fn f(api: u8) { api.api(); }",
            "use other_crate::api::Api; use ::api::Api; fn f() { api::f() }",
            "fn f(library: u8) { library }",
            "use self::inner::X; mod inner { pub(super) struct X; }",
        ] {
            assert_eq!(LAYERS.problems(&with("k8s.rs", line)), [""; 0], "{line}");
        }
    }

    #[test]
    fn a_layer_that_is_not_in_the_table_is_found() {
        refuses(
            &LAYERS.problems(&with("lib.rs", "mod attic {}")),
            "lib.rs: attic is not in the table",
        );
    }

    #[test]
    fn an_entry_that_no_import_needs_is_found() {
        let layers = Layers(&[
            ("k8s", &["api"]),
            ("status", &["api"]),
            ("plan", &["api"]),
            ("main", &["status"]),
            ("api", &[]),
        ]);
        refuses(&layers.problems(&with("k8s.rs", "")), "k8s does not import api");
        let peers = Peers(&["plan::frameworks", "plan::queues"]);
        refuses(
            &peers.problems(&with("k8s.rs", "")),
            "plan::queues has no modules",
        );
    }

    #[test]
    fn every_way_to_import_a_peer_is_found() {
        for line in [
            "use super::jax;",
            "use super::Jax;",
            "use super::{Jax};",
            "use crate::plan::frameworks::jax::Jax;",
            "use super::super::frameworks; fn f() { frameworks::jax::f() }",
            "fn f() { super::jax::f() }",
        ] {
            let problems = PEERS.problems(&with("plan/frameworks/torch.rs", line));
            refuses(
                &problems,
                "plan/frameworks/torch.rs:1: plan::frameworks::torch must not import plan::frameworks::jax",
            );
        }
        refuses(
            &PEERS.problems(&with(
                "plan/gang/sum.rs",
                "use super::super::frameworks::jax::Jax;",
            )),
            "plan/gang/sum.rs:1: plan::gang::sum must not import plan::frameworks::jax",
        );
    }
}
