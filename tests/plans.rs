//! Every file of `golden/plans`: a TrainJob on a runtime, what is rendered of it, and what is said about it, beside it as
//! `NAME.out.yaml`. The tables of variables in `docs/` are made of the same.
//!
//! Both are written anew by `UPDATE_GOLDEN=1 cargo test --test plans`; read the difference before it is kept.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod program;

use std::fmt::Write;
use std::path::Path;

use serde_json::Value;

use program::{documents, golden, trainer, verdicts};

/// Lists the inputs.
fn cases() -> Vec<String> {
    let mut cases: Vec<String> = std::fs::read_dir(golden("plans"))
        .unwrap()
        .filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            let case = name.strip_suffix(".yaml")?;
            (!case.ends_with(".out")).then(|| case.to_owned())
        })
        .collect();
    cases.sort();
    cases
}

/// Renders a case: all objects but the snapshot, which is a copy of the runtime.
fn rendered(case: &str) -> String {
    let path = format!("plans/{case}.yaml");
    let run = trainer(&["render", "-f", &path]);
    assert_eq!(run.status, 0, "{case}: {}", run.err);
    let texts = run.out.split("---\n").filter(|text| !text.trim().is_empty());
    let kept: Vec<&str> = texts
        .filter(|text| {
            let object = &documents(text)[0];
            let name = object["metadata"]["name"].as_str().unwrap();
            !(object["kind"] == "ConfigMap" && name.ends_with("-runtime-snapshot"))
        })
        .collect();
    kept.join("---\n")
}

/// Lists what is said about a case, as comments.
fn said(case: &str) -> String {
    let path = format!("plans/{case}.yaml");
    let verdicts = verdicts(&trainer(&["validate", "-f", &path, "-o", "json"]));
    let mut text = String::new();
    for verdict in verdicts {
        for warning in &verdict.warnings {
            writeln!(text, "# {} {}: {warning}", verdict.kind, verdict.name).unwrap();
        }
    }
    text
}

/// Compares a text with what a file holds, or writes it.
fn compare(file: &Path, found: &str, wrong: &mut Vec<String>) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, found).unwrap();
    }
    let want = std::fs::read_to_string(file).unwrap_or_default();
    if want != found {
        wrong.push(format!("{}\n--- found ---\n{found}", file.display()));
    }
}

#[test]
fn every_plan_is_what_it_was() {
    let mut wrong = Vec::new();
    for case in cases() {
        let found = said(&case) + &rendered(&case);
        compare(&golden(&format!("plans/{case}.out.yaml")), &found, &mut wrong);
    }
    assert!(
        wrong.is_empty(),
        "UPDATE_GOLDEN=1 writes these anew:\n{}",
        wrong.join("\n")
    );
}

/// Start and end of a table of variables in a page: `<!-- variables of CASE, JOB -->`, then `<!-- end -->`.
const START: &str = "<!-- variables of ";
const END: &str = "<!-- end -->";

/// Makes the table of what the controller sets in a container of a replicated job: all that the input's does not have.
fn table(case: &str, job: &str) -> String {
    let output = documents(&rendered(case));
    let jobset = output.iter().find(|object| object["kind"] == "JobSet").unwrap();
    let jobs = jobset["spec"]["replicatedJobs"].as_array().unwrap();
    let job = jobs.iter().find(|rjob| rjob["name"] == job).unwrap();
    let containers = &job["template"]["spec"]["template"]["spec"]["containers"];
    let mut text = "| variable | value |\n|---|---|\n".to_owned();
    for entry in containers[0]["env"].as_array().unwrap() {
        let name = entry["name"].as_str().unwrap();
        let field = entry
            .pointer("/valueFrom/fieldRef/fieldPath")
            .and_then(Value::as_str);
        let value = match field {
            Some(field) if field.contains("job-completion-index") => "*the Pod's index*".to_owned(),
            Some(field) => format!("*field* `{field}`"),
            None => format!("`{}`", entry["value"].as_str().unwrap()),
        };
        writeln!(text, "| `{name}` | {value} |").unwrap();
    }
    text
}

#[test]
fn the_tables_of_the_pages_are_made_of_plans() {
    let mut wrong = Vec::new();
    let mut tables = 0;
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "md") {
            continue;
        }
        let page = std::fs::read_to_string(&path).unwrap();
        let mut parts = page.split(START);
        let mut found = parts.next().unwrap().to_owned();
        for part in parts {
            let (of, rest) = part.split_once(" -->").expect("the comment ends");
            let (case, job) = of.split_once(", ").expect("case and replicated job");
            let (_, after) = rest.split_once(END).expect("the table ends");
            write!(found, "{START}{of} -->\n{}{END}{after}", table(case, job)).unwrap();
            tables += 1;
        }
        compare(&path, &found, &mut wrong);
    }
    assert!(tables > 0, "there are tables");
    assert!(
        wrong.is_empty(),
        "UPDATE_GOLDEN=1 writes these anew:\n{}",
        wrong.join("\n")
    );
}
