//! The rooms of `src/` and the doors between them: who may know whom, and who may touch the outer world.
//!
//! Reads the source as tokens, so that an import in braces, a path in the middle of an expression and a chain of
//! `super` all count, and comments, texts and test modules do not.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

/// Each room, and the rooms that it may import. A room that is not here fails the test.
const DOORS: [(&str, &[&str]); 10] = [
    ("api", &[]),
    ("k8s", &[]),
    ("plan", &["api", "k8s"]),
    ("status", &["api", "k8s"]),
    ("admission", &["api", "k8s", "plan", "status"]),
    ("schema", &["api", "k8s"]),
    ("catalog", &["api"]),
    (
        "controller",
        &["admission", "api", "catalog", "k8s", "plan", "schema", "status"],
    ),
    (
        "cli",
        &[
            "admission",
            "api",
            "catalog",
            "controller",
            "k8s",
            "plan",
            "schema",
            "status",
        ],
    ),
    // The entrance.
    ("main", &["cli"]),
];

/// Crates that only the controller may use: a client, an async runtime, a server, randomness.
const OUTER_CRATES: [&str; 9] = [
    "kube",
    "tokio",
    "futures",
    "axum",
    "hyper",
    "rustls",
    "rcgen",
    "prometheus_client",
    "rand",
];

/// Rooms that decide: the same input gives the same output, so they may not look around.
const DECIDING: [&str; 7] = ["api", "k8s", "plan", "status", "admission", "schema", "catalog"];

/// What a deciding room may not touch, as the end of a path.
const LOOKING_AROUND: [&[&str]; 9] = [
    &["std", "fs"],
    &["std", "env"],
    &["std", "net"],
    &["std", "process"],
    &["SystemTime"],
    &["Instant"],
    &["Timestamp", "now"],
    &["Zoned", "now"],
    &["Uuid", "new_v4"],
];

/// Folders whose files do not know each other: a new one is one file.
const STRANGERS: [[&str; 2]; 2] = [["plan", "frameworks"], ["plan", "gang"]];

#[test]
fn no_room_has_a_door_that_is_not_in_the_plan_of_the_house() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = files_below(&source);
    assert!(files.len() > 30, "the source is there");
    let mut wrong = Vec::new();
    for file in files {
        let name = file.strip_prefix(&source).unwrap().to_str().unwrap().to_owned();
        if name == "lib.rs" {
            continue;
        }
        let text = std::fs::read_to_string(&file).unwrap();
        wrong.extend(
            offences(&module_of(&name), &text)
                .into_iter()
                .map(|what| format!("src/{name}: {what}")),
        );
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Lists what a module may not do and does.
fn offences(module: &[String], text: &str) -> Vec<String> {
    let room = module[0].as_str();
    let Some((_, doors)) = DOORS.iter().find(|(name, _)| *name == room) else {
        return vec![format!("the room {room} is not in the plan of the house")];
    };
    let mut found = Vec::new();
    for path in paths(&tokens(text)) {
        let shown = path.join("::");
        let first = path[0].as_str();
        if OUTER_CRATES.contains(&first) && room != "controller" {
            found.push(format!("{shown}: only the controller may use the crate {first}"));
        }
        let looks = LOOKING_AROUND
            .iter()
            .any(|taboo| path.windows(taboo.len()).any(|steps| steps == *taboo));
        if looks && DECIDING.contains(&room) {
            found.push(format!("{shown}: {room} decides and may not look around"));
        }
        let Some(target) = resolve(module, &path) else {
            continue;
        };
        let Some(other) = target.first() else { continue };
        if other != room && is_room(other) && !doors.contains(&other.as_str()) {
            found.push(format!("{shown}: {room} may not know {other}"));
        }
        for folder in STRANGERS {
            let stranger = |path: &[String]| {
                let inside = path.len() > 2 && path[0] == folder[0] && path[1] == folder[1];
                inside.then(|| path[2].clone())
            };
            if let (Some(here), Some(there)) = (stranger(module), stranger(&target))
                && here != there
                && there.chars().all(|c| c.is_lowercase() || c == '_')
                && there != "self"
            {
                found.push(format!("{shown}: {here} and {there} may not know each other"));
            }
        }
    }
    if room == "cli" && module.len() > 1 {
        let starts = paths(&tokens(text));
        found.extend(starts.iter().filter_map(|path| {
            let target = resolve(module, path)?;
            (target.first()? == "controller").then(|| {
                format!(
                    "{}: the controller is only started, by cli/mod.rs",
                    path.join("::")
                )
            })
        }));
    }
    found
}

fn is_room(name: &str) -> bool {
    DOORS.iter().any(|(room, _)| *room == name) || name == "lib"
}

/// Gives the modules that a path of this crate names; nothing for paths of other crates and of types.
fn resolve(module: &[String], path: &[String]) -> Option<Vec<String>> {
    let (mut at, mut rest) = match path[0].as_str() {
        "crate" | "trainer" => (Vec::new(), &path[1..]),
        "self" => (module.to_vec(), &path[1..]),
        "super" => (module.to_vec(), path),
        _ => return None,
    };
    while let Some(("super", more)) = rest.split_first().map(|(first, more)| (first.as_str(), more)) {
        at.pop();
        rest = more;
    }
    at.extend(rest.iter().cloned());
    Some(at)
}

/// Gives the module that a file holds.
fn module_of(file: &str) -> Vec<String> {
    let mut module: Vec<String> = file
        .trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect();
    if module.last().is_some_and(|last| last == "mod") {
        module.pop();
    }
    module
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            files.push(path);
        }
    }
    files
}

/// Splits source into words, `::` and single marks; drops comments, texts, and what is there for tests only.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(length) = raw_text(rest) {
            length
        } else if c == '"' {
            quoted(rest)
        } else if c == '\'' {
            character(rest)
        } else if c.is_alphanumeric() || c == '_' {
            let end = rest
                .find(|c: char| !c.is_alphanumeric() && c != '_')
                .unwrap_or(rest.len());
            tokens.push(rest[..end].to_owned());
            end
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            if !c.is_whitespace() {
                tokens.push(c.to_string());
            }
            c.len_utf8()
        };
        rest = &rest[taken..];
    }
    without_tests(&tokens)
}

/// Length of a raw text such as `r#"…"#`.
fn raw_text(rest: &str) -> Option<usize> {
    let start = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let marks = start.len() - start.trim_start_matches('#').len();
    let body = start[marks..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(marks));
    let length = body.find(&end)? + end.len();
    Some(rest.len() - body.len() + length)
}

fn quoted(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return at + 1,
            _ => escaped = false,
        }
    }
    rest.len()
}

/// Length of a character such as `'a'` or `'\n'`, or of the mark alone where it begins a lifetime.
fn character(rest: &str) -> usize {
    let mut chars = rest.char_indices().skip(1);
    match chars.next() {
        Some((_, '\\')) => rest[2..]
            .char_indices()
            .skip(1)
            .find(|(_, c)| *c == '\'')
            .map_or(1, |(at, _)| at + 3),
        Some(_) => match chars.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

/// Drops each item that stands after `#[cfg(test)]`.
fn without_tests(tokens: &[String]) -> Vec<String> {
    let mark: Vec<&str> = vec!["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at..]
            .iter()
            .take(mark.len())
            .map(String::as_str)
            .eq(mark.iter().copied())
        {
            at += mark.len();
            let mut depth = 0;
            while at < tokens.len() {
                let token = tokens[at].as_str();
                at += 1;
                match token {
                    "{" => depth += 1,
                    "}" => depth -= 1,
                    _ => {}
                }
                if depth == 0 && (token == "}" || token == ";") {
                    break;
                }
            }
            continue;
        }
        kept.push(tokens[at].clone());
        at += 1;
    }
    kept
}

/// Lists every path of the source, those in braces written out.
fn paths(tokens: &[String]) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let starts = is_word(&tokens[at]) && (at == 0 || tokens[at - 1] != "::");
        if starts {
            at = path_from(tokens, at, &[], &mut found);
        } else {
            at += 1;
        }
    }
    found
}

/// Reads the path that starts at `at`, below `above`, and gives the place after it.
fn path_from(tokens: &[String], mut at: usize, above: &[String], found: &mut Vec<Vec<String>>) -> usize {
    let mut path = above.to_vec();
    loop {
        match tokens.get(at).map(String::as_str) {
            Some("{") if !path.is_empty() && at > 0 && tokens[at - 1] == "::" => {
                at += 1;
                while at < tokens.len() && tokens[at] != "}" {
                    if is_word(&tokens[at]) || tokens[at] == "*" {
                        at = path_from(tokens, at, &path, found);
                    } else {
                        at += 1;
                    }
                }
                return at + 1;
            }
            Some(word) if is_word(word) || word == "*" => {
                path.push(word.to_owned());
                at += 1;
            }
            _ => {
                found.push(path);
                return at;
            }
        }
        if tokens.get(at).is_some_and(|token| token == "::") {
            at += 1;
        } else {
            found.push(path);
            // `a as b` renames within braces.
            return if tokens.get(at).is_some_and(|token| token == "as") {
                at + 2
            } else {
                at
            };
        }
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, text: &str) -> usize {
        offences(&module_of(file), text).len()
    }

    #[test]
    fn every_way_through_a_wrong_door_is_seen() {
        for text in [
            "use crate::controller::Options;",
            "use crate::{api, controller::{Options, run}};",
            "use super::controller;",
            "fn f() { let x = crate::cli::run(); }",
            "fn f(c: super::super::schema::Schema) {}",
            "use kube::Client;",
            "fn f() { tokio::spawn(x); }",
            "use std::{collections::BTreeMap, fs};",
            "let now = jiff::Timestamp::now();",
            "use std::time::{Duration, Instant};",
        ] {
            let file = if text.contains("super::super") {
                "plan/torch.rs"
            } else {
                "plan/mod.rs"
            };
            assert!(found(file, text) > 0, "{text}");
        }
        assert_eq!(found("plan/frameworks/torch.rs", "use super::jax;"), 1);
        assert_eq!(
            found(
                "plan/frameworks/torch.rs",
                "use crate::plan::frameworks::jax::Jax;"
            ),
            1
        );
        assert_eq!(found("cli/render.rs", "use crate::controller;"), 1);
        assert_eq!(found("attic/mod.rs", ""), 1);
    }

    #[test]
    fn open_doors_comments_texts_and_tests_are_not() {
        for text in [
            "use crate::api::{self, names}; use crate::k8s;",
            "use super::draft::Draft; use self::inner::X;",
            "// crate::cli\n/* kube::x */ const A: &str = \"std::fs \\\" kube::x\"; const B: &str = r#\"tokio::x\"#;",
            "#[cfg(test)]\nmod tests { use crate::cli; fn f() { { tokio::x } } }",
            "fn f<'a>(c: &'a str) -> char { '\"' }",
            "use k8s_openapi::api::core; use jiff::Timestamp;",
        ] {
            assert_eq!(
                found("plan/torch.rs", text),
                0,
                "{text}: {:?}",
                offences(&module_of("plan/torch.rs"), text)
            );
        }
        assert_eq!(
            found(
                "plan/frameworks/torch.rs",
                "use super::Framework; use crate::plan::draft;"
            ),
            0
        );
        assert_eq!(
            found("controller/mod.rs", "use kube::Client; use crate::plan;"),
            0
        );
    }
}
