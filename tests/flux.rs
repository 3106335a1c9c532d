//! The scripts of Flux, run with a `flux` that only notes what it is asked: no Flux can be had from a package registry.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod program;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use program::{documents, golden, trainer};

/// What a `flux` of the view does here: note its words, one a line, and answer as it is told.
const FLUX: &str = r#"#!/bin/bash
{ echo "$1 $2"; printf '  <%s>\n' "$@"; } >>"$NOTES"
[ "$1 $2" = "R encode" ] && { echo '{"version": 1}'; exit 0; }
[ -e "$NOTES.busy" ] && { rm "$NOTES.busy"; exit 1; }
exit "${ANSWER:-0}"
"#;

/// A pod's file system below a folder.
struct Pod(tempfile::TempDir);

impl Pod {
    fn new() -> Self {
        let pod = Self(tempfile::tempdir().unwrap());
        let run = trainer(&[
            "render",
            "-f",
            golden("frameworks/flux/gpus-and-settings.yaml").to_str().unwrap(),
        ]);
        let scripts = documents(&run.out)
            .into_iter()
            .find(|document| document["metadata"]["name"] == "a-flux-entrypoint")
            .unwrap();
        for name in ["init.sh", "entrypoint.sh"] {
            let text = scripts["data"][name].as_str().unwrap();
            // Every absolute path of the pod lies below the folder here.
            let root = pod.0.path().display().to_string();
            let text = ["/mnt/flux", "/opt/view", "/opt/software"]
                .iter()
                .fold(text.to_owned(), |text, path| {
                    text.replace(path, &format!("{root}{path}"))
                })
                .replace(" /curve/", &format!(" {root}/curve/"));
            pod.write(name, &text);
        }
        pod.write("opt/views/._view/abc/bin/flux", FLUX);
        pod.write("opt/views/._view/abc/bin/python3.11", "#!/bin/sh\n");
        pod.write(
            "opt/views/._view/abc/lib/python3.11/site-packages/flux/__init__.py",
            "",
        );
        pod.write("opt/software/lib/libflux.so", "");
        pod.write("curve/curve.cert", "secret");
        pod.write("bin/hostname", "#!/bin/sh\necho \"$HOST\"\n");
        pod.write("bin/sleep", "#!/bin/sh\n");
        pod
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.0.path().join(path)).unwrap_or_default()
    }

    fn run(&self, script: &str, host: &str, answer: &str, words: &[&str]) -> Output {
        let system = std::env::var("PATH").unwrap();
        Command::new("/bin/bash")
            .arg(self.0.path().join(script))
            .args(words)
            .env(
                "PATH",
                format!("{}:{system}", self.0.path().join("bin").display()),
            )
            .env("NOTES", self.0.path().join("notes"))
            .env("HOST", host)
            .env("ANSWER", answer)
            .output()
            .unwrap()
    }

    /// Runs a script that must end well.
    fn succeed(&self, script: &str, host: &str, words: &[&str]) {
        let output = self.run(script, host, "0", words);
        assert!(output.status.success(), "{output:?}");
    }
}

fn exists(pod: &Pod, path: &str) -> bool {
    Path::new(pod.0.path()).join(path).exists()
}

#[test]
fn the_installer_brings_flux_and_its_configuration() {
    let pod = Pod::new();
    pod.succeed("init.sh", "any", &[]);
    assert!(exists(&pod, "mnt/flux/view/bin/flux"));
    assert!(exists(&pod, "mnt/flux/software/lib/libflux.so"));
    assert_eq!(
        pod.read("mnt/flux/config/etc/flux/system/hostlist"),
        "a-solver-0-[0-1]\n"
    );
    let broker = pod.read("mnt/flux/config/etc/flux/config/broker.toml");
    for line in [
        "default_bind = \"tcp://ib0:%p\"",
        "default_connect = \"tcp://%h.pods.default.svc.cluster.local:%p\"",
        "{ host = \"a-solver-0-[0-1]\" },",
        "queue-policy = \"easy\"",
    ] {
        assert!(broker.contains(line), "{line} in {broker}");
    }
    assert!(exists(&pod, "mnt/flux/flux-operator-done.txt"));
}

#[test]
fn the_first_node_runs_the_program_word_by_word_and_ends_as_it_does() {
    let pod = Pod::new();
    pod.succeed("init.sh", "any", &[]);
    let words = ["lmp", "-in", "in file", "it's $HOME", "*", ""];
    let output = pod.run("entrypoint.sh", "a-solver-0-0", "3", &words);
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let notes = pod.read("notes");
    for word in words {
        assert!(notes.contains(&format!("  <{word}>\n")), "{word} in {notes}");
    }
    assert!(notes.contains("R encode\n"));
    assert!(notes.contains("  <--hosts=a-solver-0-[0-1]>\n  <--cores=0-3>\n  <--gpu=0-3>\n"));
    assert!(
        notes.contains("  <flux>\n  <run>\n  <-N>\n  <2>\n  <-n>\n  <8>\n  <-g>\n  <1>\n  <lmp>\n"),
        "{notes}"
    );
    assert_eq!(pod.read("mnt/flux/config/etc/curve/curve.cert"), "secret");
    let mode = fs::metadata(pod.0.path().join("mnt/flux/config/etc/curve/curve.cert")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    assert!(exists(&pod, "opt/software/lib/libflux.so"));
    assert!(pod.read("mnt/flux/flux-view.sh").contains("FLUX_URI=local://"));
    assert!(exists(&pod, "mnt/flux/flux-operator-complete.txt"));
}

#[test]
fn without_a_program_the_first_node_is_a_broker_to_work_in() {
    let pod = Pod::new();
    pod.succeed("init.sh", "any", &[]);
    pod.succeed("entrypoint.sh", "a-solver-0-0", &[]);
    assert!(pod.read("notes").contains("broker --config-path\n"));
}

#[test]
fn other_nodes_join_until_the_first_one_has_ended_well() {
    let pod = Pod::new();
    pod.succeed("init.sh", "any", &[]);
    pod.write("notes.busy", "");
    pod.succeed("entrypoint.sh", "a-solver-0-1", &["lmp"]);
    let notes = pod.read("notes");
    assert_eq!(notes.matches("start -o\n").count(), 2, "{notes}");
    assert!(!notes.contains("<lmp>"));
}
