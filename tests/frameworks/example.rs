//! Runs examples.

use std::time::Duration;

use serde_json::{Value, json};
use trainer::api::TrainJob;
use trainer::api::names::condition;

use crate::support::{Cluster, Controller, kubectl, repository, until_within};

/// How long a training run may take: it has the machine for itself, but the first use of an image is slow.
const PATIENCE: Duration = Duration::from_mins(10);

/// The objects of an example, to be run as they are or changed before.
pub(crate) struct Example(Vec<Value>);

impl Example {
    /// Reads a file of `examples/`.
    pub(crate) fn read(name: &str) -> Self {
        let path = repository(&format!("examples/{name}.yaml"));
        let text = std::fs::read_to_string(&path).unwrap();
        Self(serde_saphyr::from_multiple(&text).unwrap())
    }

    /// The TrainJob.
    pub(crate) fn job(&mut self) -> &mut Value {
        let found = self.0.iter_mut().find(|object| object["kind"] == "TrainJob");
        found.unwrap()
    }

    /// Runs the TrainJob on another shipped runtime, of which the namespace gets a copy with changes.
    pub(crate) fn on(mut self, runtime: &str, change: impl FnOnce(&mut Value)) -> Self {
        let path = repository(&format!("runtimes/{runtime}.yaml"));
        let mut runtime: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        runtime["kind"] = json!("TrainingRuntime");
        change(&mut runtime);
        self.job()["spec"]["runtimeRef"] =
            json!({"kind": "TrainingRuntime", "name": runtime["metadata"]["name"]});
        self.0.insert(0, runtime);
        self
    }

    /// Runs the TrainJob to its end, which must be a good one, and gives what its pods printed.
    pub(crate) async fn run(self) -> String {
        self.start().await.end().await
    }

    /// Starts the TrainJob.
    pub(crate) async fn start(mut self) -> Running {
        let cluster = Cluster::take().await;
        let runtimes = repository("runtimes");
        kubectl(&["apply", "--server-side", "-f", runtimes.to_str().unwrap()]);
        let controller = Controller::start();
        let name = self.job()["metadata"]["name"].as_str().unwrap().to_owned();
        let file = tempfile::NamedTempFile::new().unwrap();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": self.0});
        std::fs::write(file.path(), list.to_string()).unwrap();
        kubectl(&[
            "apply",
            "-n",
            &cluster.namespace,
            "-f",
            file.path().to_str().unwrap(),
        ]);
        Running {
            cluster,
            _controller: controller,
            name,
        }
    }
}

/// An example that runs.
pub(crate) struct Running {
    pub(crate) cluster: Cluster,
    _controller: Controller,
    name: String,
}

impl Running {
    /// Waits until one of the pods has printed a text.
    pub(crate) async fn prints(&self, text: &str) {
        until_within(PATIENCE, &format!("a pod prints {text:?}"), async || {
            self.cluster.logs(&self.name).await.contains(text).then_some(())
        })
        .await;
    }

    /// Waits for the end, which must be a good one, and gives what the pods printed.
    pub(crate) async fn end(self) -> String {
        let Self { cluster, name, .. } = &self;
        let job: TrainJob = until_within(PATIENCE, &format!("TrainJob {name} ends"), async || {
            let job = cluster.jobs().get(name).await.unwrap();
            job.finished().then_some(job)
        })
        .await;
        let logs = cluster.logs(name).await;
        assert!(
            job.has(condition::COMPLETE),
            "{:?}\n{logs}",
            job.condition(condition::FAILED)
        );
        self.cluster.leave().await;
        logs
    }
}

/// Checks that each of these texts was printed just so often.
pub(crate) fn printed<'t>(logs: &str, wanted: impl IntoIterator<Item = (&'t str, usize)>) {
    for (text, times) in wanted {
        assert_eq!(logs.matches(text).count(), times, "{text}\n{logs}");
    }
}

/// The words that follow a text, one for each line that has it; each must have the same, and there must be as many.
pub(crate) fn all_say_the_same(logs: &str, text: &str, times: usize) {
    let found: Vec<&str> = logs
        .lines()
        .filter_map(|line| line.split_once(text)?.1.trim_start().split([' ', ',']).next())
        .collect();
    assert_eq!(found.len(), times, "{text}\n{logs}");
    assert!(
        found.iter().all(|word| *word == found[0]),
        "{text}: {found:?}\n{logs}"
    );
}

/// The number that follows the word "accuracy" on each line that has one, and that must be there.
pub(crate) fn accuracies(logs: &str) -> Vec<f64> {
    let found: Vec<f64> = logs
        .lines()
        .filter_map(|line| {
            line.split_once("accuracy ")?
                .1
                .split([' ', ','])
                .next()?
                .parse()
                .ok()
        })
        .collect();
    assert!(!found.is_empty(), "no accuracy:\n{logs}");
    found
}
