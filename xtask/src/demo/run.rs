//! Applies a TrainJob, and follows the states and the output of its pods until it ends.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use local_cluster::console::print;
use local_cluster::kubectl::Kubectl;
use local_cluster::{interrupt, say};
use serde_json::Value;

/// The result of a complete TrainJob.
pub(super) struct Outcome {
    job: String,
    took: Duration,
    pods: usize,
    /// The end of the first pod's output.
    last_lines: Vec<String>,
    accuracy: String,
}

impl Outcome {
    pub(super) fn print(&self) {
        print("");
        print(&format!(
            "{} is Complete after {:.0} s on {} pods",
            self.job,
            self.took.as_secs_f64(),
            self.pods
        ));
        self.last_lines
            .iter()
            .for_each(|line| print(&format!("  {line}")));
        print(&format!("test accuracy: {}", self.accuracy));
        print("");
    }
}

/// Creates the TrainJob of a file in a namespace, and follows it until it is Complete.
pub(super) fn follow_to_the_end(
    kubectl: &Kubectl,
    namespace: &str,
    file: &Path,
    limit: Duration,
) -> Result<Outcome> {
    let yaml = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let job: Value =
        serde_saphyr::from_str(&yaml).with_context(|| format!("{} is not YAML", file.display()))?;
    let Some(name) = job["metadata"]["name"].as_str() else {
        bail!("{} has no metadata.name", file.display());
    };
    kubectl.apply(format!(
        r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{namespace}"}}}}"#
    ))?;
    kubectl
        .task(["--namespace", namespace, "apply", "--filename"])
        .arg(file)
        .text()?;
    let started = Instant::now();
    say!("TrainJob {name} created");

    let job = Job {
        kubectl,
        namespace,
        name,
    };
    let enough = AtomicBool::new(false);
    let ended = thread::scope(|scope| {
        let ended = job.watch(scope, &enough, started + limit);
        enough.store(true, Ordering::Relaxed);
        ended
    });
    let pods = ended?;
    let first = pods.keys().next().map(String::as_str).unwrap_or_default();
    let log = job.text(&["logs", first])?;
    let Some(accuracy) = log.lines().rev().find_map(accuracy) else {
        bail!("pod {first} printed no accuracy");
    };
    let lines: Vec<String> = log.lines().map(str::to_owned).collect();
    Ok(Outcome {
        job: format!("TrainJob {name}"),
        took: started.elapsed(),
        pods: pods.len(),
        last_lines: lines[lines.len().saturating_sub(6)..].to_vec(),
        accuracy,
    })
}

struct Job<'a> {
    kubectl: &'a Kubectl,
    namespace: &'a str,
    name: &'a str,
}

impl Job<'_> {
    /// Prints changes until the TrainJob has ended. Returns its pods and their last states.
    fn watch<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        enough: &'scope AtomicBool,
        deadline: Instant,
    ) -> Result<BTreeMap<String, String>> {
        let mut pods: BTreeMap<String, String> = BTreeMap::new();
        loop {
            interrupt::check()?;
            for (pod, state) in self.pods()? {
                let before = pods.insert(pod.clone(), state.clone());
                if before.as_deref() != Some(&state) {
                    say!("pod {pod}: {state}");
                    let running = |state: &str| state != "Pending";
                    if running(&state) && !before.as_deref().is_some_and(running) {
                        scope.spawn(move || self.show_output(&pod, enough));
                    }
                }
            }
            match self.end()? {
                Some((condition, _)) if condition == "Complete" => return Ok(pods),
                Some((_, message)) => bail!("TrainJob {} failed: {message}", self.name),
                None if Instant::now() > deadline => bail!("TrainJob {} did not end in time", self.name),
                None => thread::sleep(Duration::from_millis(500)),
            }
        }
    }

    /// Lists the pods: name and phase.
    fn pods(&self) -> Result<Vec<(String, String)>> {
        let selector = format!("jobset.sigs.k8s.io/jobset-name={}", self.name);
        let found = self.kubectl.find(&[
            "--namespace",
            self.namespace,
            "get",
            "pods",
            "--selector",
            &selector,
        ])?;
        let items = found
            .and_then(|list| list["items"].as_array().cloned())
            .unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(items
            .iter()
            .map(|pod| (text(&pod["metadata"]["name"]), text(&pod["status"]["phase"])))
            .collect())
    }

    /// Returns the condition that ended the TrainJob, and its message.
    fn end(&self) -> Result<Option<(String, String)>> {
        let job = self
            .kubectl
            .find(&["--namespace", self.namespace, "get", "trainjob", self.name])?
            .unwrap_or_default();
        let conditions = job["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        Ok(conditions
            .iter()
            .filter(|condition| condition["status"] == "True")
            .filter_map(|condition| {
                Some((
                    condition["type"].as_str()?,
                    condition["message"].as_str().unwrap_or_default(),
                ))
            })
            .find(|(kind, _)| ["Complete", "Failed"].contains(kind))
            .map(|(kind, message)| (kind.to_owned(), message.to_owned())))
    }

    fn show_output(&self, pod: &str, enough: &AtomicBool) {
        let task = self
            .kubectl
            .task(["--namespace", self.namespace, "logs", "--follow", pod]);
        let node = pod.rsplit_once('-').map_or(pod, |(node, _)| node);
        if let Err(error) = task.follow(enough, |line| print(&format!("          {node} | {line}"))) {
            say!("output of {pod}: {error:#}");
        }
    }

    fn text(&self, arguments: &[&str]) -> Result<String> {
        self.kubectl
            .task(["--namespace", self.namespace])
            .args(arguments)
            .text()
    }
}

/// Finds the number after the word "accuracy" in a line about the whole test set.
fn accuracy(line: &str) -> Option<String> {
    let number = line.split_once("accuracy ")?.1.split_whitespace().next()?;
    number.parse::<f64>().ok().map(|_| number.to_owned())
}

#[cfg(test)]
mod tests {
    use super::accuracy;

    #[test]
    fn the_accuracy_is_the_number_after_the_word() {
        assert_eq!(
            accuracy("accuracy 0.9694 on all 360 test digits").as_deref(),
            Some("0.9694")
        );
        assert_eq!(accuracy("accuracy is below 0.9"), None);
        assert_eq!(accuracy("epoch 5: loss 0.3"), None);
    }
}
