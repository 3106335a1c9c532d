//! What all sorts of MPI have in common: the example on two nodes with two processes each.

use serde_json::{Value, json};

use crate::example::{Example, accuracies};

/// Which pods compute.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Launcher {
    IsNode,
    OnlyStarts,
}

/// Learns the digits on a shipped runtime, with another image if there is one, and checks that all processes were there.
pub(crate) async fn learns_digits(runtime: &str, image: Option<&str>, launcher: Launcher) {
    let mut example = Example::read("mpi-digits").on(runtime, |runtime: &mut Value| {
        runtime["spec"]["mlPolicy"]["mpi"]["runLauncherAsNode"] = json!(launcher == Launcher::IsNode);
    });
    if let Some(image) = image {
        example.job()["spec"]["trainer"]["image"] = json!(image);
    }
    let logs = example.run().await;
    all_ranks_were_there(&logs, "mpi-digits", launcher);
    assert!(accuracies(&logs).iter().all(|accuracy| *accuracy > 0.9), "{logs}");
}

/// Checks that four processes, two on each node, have added up their ranks.
pub(crate) fn all_ranks_were_there(logs: &str, job: &str, launcher: Launcher) {
    for rank in 0..4 {
        let line = format!("rank {rank} of world size 4 on ");
        assert!(logs.contains(&line), "{line}\n{logs}");
    }
    assert_eq!(logs.matches(": the ranks add up to 6").count(), 4, "{logs}");
    let nodes = match launcher {
        Launcher::IsNode => ["launcher-0-0", "node-0-0"],
        Launcher::OnlyStarts => ["node-0-0", "node-0-1"],
    };
    for node in nodes {
        let line = format!(" on {job}-{node}: ");
        assert_eq!(logs.matches(&line).count(), 2, "{line}\n{logs}");
    }
}
