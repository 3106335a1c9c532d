//! The command line as its users meet it: the whole reference, the likely mistakes and what is said of them, exit
//! status, streams and forms.
//!
//! Golden files are written anew by `UPDATE_GOLDEN=1 cargo test --test cli`; read the difference before it is kept.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking"
)]

mod program;

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use program::{Run, documents, golden, trainer, verdicts};

/// Compares a text with a golden file.
fn assert_golden(path: &str, found: &str) {
    let file = golden(path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, found).unwrap();
    }
    let want = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        want == found,
        "{path} is out of date; UPDATE_GOLDEN=1 writes it anew.\n--- found ---\n{found}"
    );
}

/// Runs the program with a text as standard input.
fn trainer_with(input: &str, args: &[&str]) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_trainer"))
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    Run {
        status: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn job(name: &str, spec: &Value) -> Value {
    let mut whole = json!({"runtimeRef": {"name": "torch-distributed"}});
    whole
        .as_object_mut()
        .unwrap()
        .extend(spec.as_object().unwrap().clone());
    json!({
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": name},
        "spec": whole,
    })
}

/// Shows a run as it looks in a terminal.
fn session(args: &[&str]) -> String {
    let run = trainer(args);
    let status = if run.status == 0 {
        String::new()
    } else {
        format!("[exit {}]\n", run.status)
    };
    format!("$ trainer {}\n{}{}{status}", args.join(" "), run.err, run.out)
}

#[cfg(feature = "controller")]
#[test]
fn the_reference_is_up_to_date() {
    fn collect(command: &[&str], reference: &mut String) {
        let args: Vec<&str> = command.iter().copied().chain(["--help"]).collect();
        let help = session(&args);
        reference.push_str(&help);
        reference.push('\n');
        let commands = help.split_once("\nCommands:\n").map_or("", |(_, rest)| rest);
        for line in commands.lines().take_while(|line| !line.is_empty()) {
            // A name stands at an indent of two; further lines of its text at more.
            let name = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '));
            if let Some(name) = name.and_then(|rest| rest.split(' ').next()) {
                let deeper: Vec<&str> = command.iter().copied().chain([name]).collect();
                collect(&deeper, reference);
            }
        }
    }
    let mut reference = String::new();
    collect(&[], &mut reference);
    assert_golden("cli/reference.txt", &reference);
}

#[test]
fn likely_mistakes_are_answered_with_field_and_way_out() {
    let mut files: Vec<_> = std::fs::read_dir(golden("cli/mistakes"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_some_and(|end| end == "yaml"))
        .collect();
    files.sort();
    assert!(files.len() > 10, "the mistakes are there");
    for file in files {
        let path = format!("cli/mistakes/{file}");
        let found = session(&["validate", "-f", &path]);
        assert_golden(&path.replace(".yaml", ".txt"), &found);
    }
}

#[test]
fn every_example_renders_without_a_warning() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let run = trainer(&["render", "-f", path.to_str().unwrap()]);
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", path.display());
        seen += 1;
    }
    assert!(seen > 15, "the examples are there");
}

/// A folder for each framework: a job and its runtime, and what becomes of them.
#[test]
fn each_framework_comes_out_as_its_folder_says() {
    let cases = cases_below("frameworks");
    assert!(cases.len() > 15, "the cases are there");
    for case in cases {
        assert_golden(&format!("{case}.txt"), &rendered(&case));
    }
}

#[test]
fn each_gang_comes_out_as_its_folder_says_and_is_explained() {
    let cases = cases_below("gangs");
    assert!(cases.len() > 8, "the cases are there");
    for case in cases {
        // What the frameworks make is kept with them.
        let rendered = rendered(&case);
        let of_gangs = rendered.split_inclusive("---\n").filter(|document| {
            !["JobSet", "ConfigMap", "Secret"]
                .iter()
                .any(|kind| document.contains(&format!("\nkind: {kind}\n")))
        });
        let rendered: String = of_gangs.collect();
        let explained = session(&["explain", "-f", &format!("{case}.yaml")]);
        let found = format!(
            "{}\n{}",
            rendered.trim_end_matches("---\n"),
            marks_and_gangs(&explained)
        );
        assert_golden(&format!("{case}.txt"), &found);
    }
}

/// Takes from what `explain` prints the values that a gang sets, and what it says of the gangs.
fn marks_and_gangs(explained: &str) -> String {
    let (mut found, mut in_gang) = (String::new(), false);
    for line in explained.lines() {
        if !line.starts_with(' ') {
            in_gang = line.starts_with("Gang of ");
        }
        let told_before = line.starts_with("error: ") || line.starts_with("warning: ");
        let of_tree =
            line.starts_with(' ') && !line.contains("replicatedJobs[") && !line.contains("# gang of");
        if in_gang || !told_before && !of_tree {
            found.push_str(line);
            found.push('\n');
        }
    }
    found
}

/// Lists the cases in the folders of a folder, without `.yaml`.
fn cases_below(folder: &str) -> Vec<String> {
    let mut cases = Vec::new();
    for group in std::fs::read_dir(golden(folder)).unwrap() {
        let group = group.unwrap().file_name().into_string().unwrap();
        for file in std::fs::read_dir(golden(&format!("{folder}/{group}"))).unwrap() {
            let file = file.unwrap().file_name().into_string().unwrap();
            if let Some(case) = file.strip_suffix(".yaml") {
                cases.push(format!("{folder}/{group}/{case}"));
            }
        }
    }
    cases.sort();
    cases
}

/// Renders a case, without the snapshots, which say what the runtimes say.
fn rendered(case: &str) -> String {
    let found = session(&["render", "-f", &format!("{case}.yaml")]);
    let mut documents: Vec<&str> = found.split("---\n").collect();
    documents.retain(|document| !document.contains("-runtime-snapshot\n"));
    documents.join("---\n")
}

#[test]
fn a_job_is_rendered_and_explained() {
    let found = [
        session(&["render", "-f", "cli/job.yaml"]),
        session(&["render", "-f", "cli/job.yaml", "-n", "team", "-o", "json"]),
        session(&["validate", "-f", "cli/job.yaml", "-o", "json"]),
        session(&["explain", "-f", "cli/job.yaml"]),
        session(&["explain", "-f", "cli/job.yaml", "env[PET_NNODES]"]),
        session(&[
            "explain",
            "-f",
            "cli/job.yaml",
            "$.spec.replicatedJobs[?(@.name=='node')]..image",
        ]),
        session(&["explain", "-f", "cli/job.yaml", "env[PET_NODES]"]),
    ];
    assert_golden("cli/job.txt", &found.join("\n"));
}

#[test]
fn render_makes_what_can_be_made_and_tells_of_the_rest() {
    let jobs = [
        job("good", &json!({})),
        job("bad", &json!({"trainer": {"numNodes": -1}})),
        job("elsewhere", &json!({"managedBy": "kueue.x-k8s.io/multikueue"})),
    ];
    let list = json!({"apiVersion": "v1", "kind": "List", "items": jobs}).to_string();
    let run = trainer_with(&list, &["render", "-f", "-", "-n", "team"]);
    let names: Vec<String> = documents(&run.out)
        .iter()
        .map(|object| {
            format!(
                "{} {}/{}",
                object["kind"], object["metadata"]["namespace"], object["metadata"]["name"]
            )
        })
        .collect();
    assert_eq!(
        names.join(", ").replace('"', ""),
        "ConfigMap team/good-runtime-snapshot, JobSet team/good, \
         ConfigMap team/elsewhere-runtime-snapshot, JobSet team/elsewhere"
    );
    assert_eq!(run.status, 1);
    assert!(
        run.err.contains("TrainJob team/bad: spec.trainer.numNodes: "),
        "{}",
        run.err
    );
    assert!(
        run.err.contains("TrainJob team/elsewhere: spec.managedBy"),
        "{}",
        run.err
    );
}

#[test]
fn what_is_rendered_is_itself_a_good_input() {
    let job = job("again", &json!({"suspend": true})).to_string();
    let first = trainer_with(&job, &["render", "-f", "-"]);
    let second = trainer_with(&format!("{}---\n{job}", first.out), &["render", "-f", "-"]);
    assert_eq!(second.status, 0, "{}", second.err);
    let jobset = |run: &Run| {
        documents(&run.out)
            .into_iter()
            .find(|o| o["kind"] == "JobSet")
            .unwrap()
    };
    assert_eq!(jobset(&first), jobset(&second));
}

#[test]
fn a_command_of_a_mebibyte_comes_through_unchanged_and_a_longer_one_is_refused_in_few_words() {
    let script = |length: usize| "echo 'a: b' # x\n\tyes\n".repeat(length / 20 + 1)[..length].to_owned();
    let with = |length| {
        let trainer = json!({"command": ["bash", "-c", script(length)]});
        job("long", &json!({"trainer": trainer})).to_string()
    };
    let run = trainer_with(&with(1 << 20), &["render", "-f", "-"]);
    assert_eq!(run.status, 0, "{}", &run.err[..run.err.len().min(500)]);
    let command = documents(&run.out)[1]
        .pointer("/spec/replicatedJobs/0/template/spec/template/spec/containers/0/command/2")
        .cloned();
    assert!(command == Some(json!(script(1 << 20))), "the script is changed");

    let run = trainer_with(&with((1 << 20) + 1), &["validate", "-f", "-"]);
    assert_eq!(run.status, 1);
    assert!(
        run.out
            .contains("spec.trainer.command[2]: must have at most 1048576 characters, got 1048577"),
        "{:.500}",
        run.out
    );
    assert!(run.out.len() < 1000);
}

#[test]
fn texts_that_look_like_something_else_stay_texts_for_readers_of_either_yaml() {
    let texts = [
        "",
        "~",
        "null",
        "yes",
        "n",
        "On",
        "true",
        "1",
        "0x10",
        "0o17",
        "017",
        "1_000",
        "1e3",
        ".5",
        ".inf",
        "1:30",
        "2001-01-01",
        "<<",
        "=",
        "- a",
        "# a",
        "a: b",
        "a #b",
        "'",
        "\"",
        "\\",
        "{a}",
        "[a",
        "*a",
        "&a",
        "!a",
        "%a",
        "@a",
        "`a",
        "? a",
        "---",
        "...",
        " a",
        "a ",
        "a\n",
        "a\n\n",
        "\na",
        "  a\nb",
        "a\tb",
        "a\r\nb",
        "\u{1f600}\u{e9}",
        "\u{85}",
        "\u{2028}",
        "\u{feff}a",
        "\u{7}",
    ];
    let mut args: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    args.push("word ".repeat(100));
    let labels: serde_json::Map<String, Value> = ["yes", "n", "on", "1e3", "null"]
        .iter()
        .map(|key| ((*key).to_owned(), json!(key)))
        .collect();
    let patch =
        json!([{"manager": "a.io/b", "trainingRuntimeSpec": {"template": {"metadata": {"labels": labels}}}}]);
    let job = job(
        "texts",
        &json!({"trainer": {"args": args}, "runtimePatches": patch}),
    )
    .to_string();
    let run = trainer_with(&job, &["render", "-f", "-"]);
    assert_eq!(run.status, 0, "{}", run.err);
    // PyYAML, which reads YAML 1.1, has read this file as the same texts.
    assert_golden("cli/texts.txt", &run.out);
    // This reader takes `yes` for a boolean where it is not quoted, the one of `documents` does not.
    let strict = documents(&run.out);
    let lenient: Vec<Value> = serde_saphyr::from_multiple(&run.out).unwrap();
    for read in [strict, lenient] {
        let found = &read[1]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]["containers"]
            [0]["args"];
        assert_eq!(found, &json!(args));
        assert_eq!(read[1]["metadata"]["labels"], json!(labels));
    }
}

#[test]
fn what_cannot_be_read_ends_with_two_and_hides_nothing() {
    let run = trainer(&[
        "validate",
        "-f",
        "cli/job.yaml",
        "cli/no-such-file.yaml",
        "-o",
        "json",
    ]);
    assert_eq!(run.status, 2);
    assert_eq!(verdicts(&run).len(), 1);
    assert!(
        run.err.contains("cli/no-such-file.yaml: No such file"),
        "{}",
        run.err
    );

    let run = trainer(&["render", "-f", "cli/mistakes/broken-yaml.yaml"]);
    assert_eq!(run.status, 2);
    assert_eq!(documents(&run.out).len(), 4);

    let run = trainer_with("", &["render", "-f", "-"]);
    assert_eq!((run.status, run.out.as_str()), (0, ""));
    assert!(run.err.contains("there is no TrainJob"), "{}", run.err);

    assert_eq!(trainer(&["render"]).status, 2);
}

#[test]
fn a_name_can_be_left_to_the_server() {
    let mut job = job("x", &json!({}));
    job["metadata"] = json!({"generateName": "tune-"});
    let run = trainer_with(&job.to_string(), &["validate", "-f", "-", "-o", "json"]);
    assert_eq!(
        (run.status, verdicts(&run)[0].name.as_str()),
        (0, "tune-xxxxx"),
        "{}",
        run.out
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_trainer"))
        .arg("crds")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0; 10];
    child.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn colours_are_for_terminals_and_for_who_wants_them() {
    let colours = |variable: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_trainer"));
        for clear in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
            command.env_remove(clear);
        }
        let path = golden("cli/mistakes/reserved-env.yaml");
        let output = command
            .env(variable, "1")
            .args(["validate", "-f"])
            .arg(path)
            .output()
            .unwrap();
        output.stdout.contains(&0x1b)
    };
    assert!(!colours("NOTHING"));
    assert!(!colours("NO_COLOR"));
    assert!(colours("CLICOLOR_FORCE"));
}

#[test]
fn the_crds_are_those_that_are_installed() {
    let run = trainer(&["crds"]);
    let printed = documents(&run.out);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("crds");
    let mut installed = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "yaml") {
            continue;
        }
        for crd in documents(&std::fs::read_to_string(&path).unwrap()) {
            if crd["kind"] == "CustomResourceDefinition" {
                installed += 1;
                assert!(
                    printed.contains(&crd),
                    "{} is not what is printed",
                    path.display()
                );
            }
        }
    }
    assert_eq!((run.status, printed.len(), installed), (0, 3, 3));
}

#[test]
fn version_and_completion_are_printed() {
    assert_eq!(
        trainer(&["version"]).out,
        format!("trainer {}\n", env!("CARGO_PKG_VERSION"))
    );
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            trainer(&["completion", shell]).out.contains("validate"),
            "{shell}"
        );
    }
}
