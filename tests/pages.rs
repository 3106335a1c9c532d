//! The pages of `docs/` agree with the program: tables of variables are generated from the cases of
//! `golden/frameworks`, manifests are valid, and the table of permissions is the chart's.
//!
//! `UPDATE_GOLDEN=1 cargo test --test pages` rewrites the tables of variables; read the difference before you keep it.

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

use program::{documents, trainer};

/// Renders a case below `golden/frameworks`.
fn jobset(case: &str) -> Value {
    let run = trainer(&["render", "-f", &format!("frameworks/{case}.yaml")]);
    assert_eq!(run.status, 0, "{case}: {}", run.err);
    let mut objects = documents(&run.out).into_iter();
    objects.find(|object| object["kind"] == "JobSet").unwrap()
}

/// Compares a text with a file, or writes the file.
fn compare(file: &Path, found: &str, wrong: &mut Vec<String>) {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file, found).unwrap();
    }
    let want = std::fs::read_to_string(file).unwrap_or_default();
    if want != found {
        wrong.push(format!("{}\n--- found ---\n{found}", file.display()));
    }
}

/// Start and end of a table of variables in a page: `<!-- variables of CASE, JOB -->`, then `<!-- end -->`.
const START: &str = "<!-- variables of ";
const END: &str = "<!-- end -->";

/// Returns the table of the variables of a replicated job's first container.
fn table(case: &str, job: &str) -> String {
    let jobset = jobset(case);
    let jobs = jobset["spec"]["replicatedJobs"].as_array().unwrap();
    let job = jobs.iter().find(|rjob| rjob["name"] == job).unwrap();
    let containers = &job["template"]["spec"]["template"]["spec"]["containers"];
    let mut text = "| variable | value |\n|---|---|\n".to_owned();
    for entry in containers[0]["env"].as_array().unwrap() {
        let name = entry["name"].as_str().unwrap();
        // The job's own, in the cases.
        if name == "LR" {
            continue;
        }
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
fn the_tables_of_variables_match_the_plans() {
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
        "UPDATE_GOLDEN=1 rewrites these:\n{}",
        wrong.join("\n")
    );
}

#[test]
fn the_manifests_of_the_pages_are_allowed() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pages = std::fs::read_dir(repository.join("docs")).unwrap();
    let pages = pages.map(|entry| entry.unwrap().path());
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("manifest.yaml");
    let mut manifests = 0;
    for page in pages.chain([repository.join("README.md")]) {
        let text = std::fs::read_to_string(&page).unwrap();
        let blocks = text.split("```yaml\n").skip(1);
        let blocks = blocks.filter_map(|rest| rest.split("```").next());
        for manifest in blocks.filter(|block| block.contains("trainer.kubeflow.org/v1alpha1")) {
            std::fs::write(&file, manifest).unwrap();
            let run = trainer(&["validate", "-f", file.to_str().unwrap()]);
            assert_eq!(run.status, 0, "{}: {}{}", page.display(), run.out, run.err);
            manifests += 1;
        }
    }
    assert!(manifests > 0, "there are manifests");
}

#[test]
fn the_table_of_permissions_matches_the_chart() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifests = std::fs::read_to_string(repository.join("manifests/base/trainer.yaml")).unwrap();
    let objects = documents(&manifests);
    let is_ours = |o: &&Value| {
        o["kind"] == "ClusterRole" && o["metadata"]["name"] == "kubeflow-trainer-controller-manager"
    };
    let role = objects.iter().find(is_ours).expect("the controller's role");
    let list = |of: &Value| {
        let names = of.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
        names.collect::<Vec<_>>().join(", ")
    };
    let rules = role["rules"].as_array().unwrap().iter();
    let granted: Vec<String> = rules
        .map(|rule| {
            [&rule["apiGroups"], &rule["resources"], &rule["verbs"]]
                .map(list)
                .join(" | ")
        })
        .collect();

    let page = std::fs::read_to_string(repository.join("docs/operations.md")).unwrap();
    let (_, table) = page
        .split_once("| API group | resources | verbs | for |\n")
        .expect("the table");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    let documented: Vec<String> = rows
        .map(|row| {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            cells[1..4].join(" | ")
        })
        .collect();
    assert_eq!(documented, granted);
}
