//! The program as its users see it: run with files, read by its output and exit status.

#![allow(
    dead_code,
    unreachable_pub,
    reason = "each test file that includes this uses a part of it"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints its summary"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;
use serde_json::Value;

/// What a run of the program gave.
pub struct Run {
    pub status: i32,
    pub out: String,
    pub err: String,
}

/// Runs the program in the folder of the golden files.
pub fn trainer(args: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_trainer"))
        .args(args)
        .current_dir(golden(""))
        .env("COLUMNS", "100")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    Run {
        status: output.status.code().expect("ended by itself"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A path below the golden files.
pub fn golden(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(path)
}

/// Reads a stream of YAML documents, in which a plain `y` is a text.
pub fn documents(text: &str) -> Vec<Value> {
    try_documents(text).unwrap()
}

/// Reads a stream that may be no YAML.
pub fn try_documents(text: &str) -> Option<Vec<Value>> {
    let options = serde_saphyr::options! { strict_booleans: true };
    serde_saphyr::from_multiple_with_options(text, options).ok()
}

/// What `trainer validate -o json` says of one document.
#[derive(Deserialize)]
pub struct Verdict {
    pub kind: String,
    pub name: String,
    pub allowed: bool,
    pub problems: Vec<Problem>,
    pub warnings: Vec<String>,
}

#[derive(Deserialize)]
pub struct Problem {
    pub field: String,
    pub message: String,
}

impl Verdict {
    pub fn is_of(&self, object: &str) -> bool {
        object.split_once('/') == Some((self.kind.as_str(), self.name.as_str()))
    }
}

/// Reads the verdicts that a run printed.
pub fn verdicts(run: &Run) -> Vec<Verdict> {
    serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}\n{}\n{}", run.out, run.err))
}

/// What only something else can show, by case and check, with the reason; a check that passes must not be listed.
pub struct Pending {
    of: &'static str,
    listed: BTreeMap<String, String>,
    passed: usize,
    waiting: Vec<String>,
    wrong: Vec<String>,
}

impl Pending {
    /// Reads one list of `pending.json`.
    pub fn of(list: &'static str) -> Self {
        let text = std::fs::read_to_string(golden("pending.json")).unwrap();
        let mut lists: BTreeMap<String, BTreeMap<String, String>> = serde_json::from_str(&text).unwrap();
        Self {
            of: list,
            listed: lists.remove(list).unwrap_or_default(),
            passed: 0,
            waiting: Vec::new(),
            wrong: Vec::new(),
        }
    }

    /// Notes how a check went: nothing, or what is wrong.
    pub fn note(&mut self, check: &str, found: Result<(), String>) {
        match (found, self.listed.remove(check)) {
            (Ok(()), None) => self.passed += 1,
            (Ok(()), Some(_)) => self
                .wrong
                .push(format!("{check}\n    passes: take it off pending.json")),
            (Err(_), Some(why)) => self.waiting.push(format!("{check}  ({why})")),
            (Err(what), None) => self.wrong.push(format!("{check}\n    {what}")),
        }
    }

    /// Prints the summary and fails when a check failed that is not listed, or one is listed without need.
    pub fn finish(mut self) {
        self.wrong.extend(
            self.listed
                .keys()
                .map(|check| format!("{check}\n    is listed, but there is no such check")),
        );
        println!(
            "{}: {} pass, {} pending",
            self.of,
            self.passed,
            self.waiting.len()
        );
        for check in &self.waiting {
            println!("  pending {check}");
        }
        assert!(
            self.wrong.is_empty(),
            "{} of {} are wrong:\n{}",
            self.wrong.len(),
            self.of,
            self.wrong.join("\n")
        );
    }
}
