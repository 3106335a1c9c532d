//! What to look at first when a demo fails.

use local_cluster::console::print;
use local_cluster::kubectl::Kubectl;

use crate::helm;

/// Prints events, the TrainJob, the controller's log and the pods' logs. Prints errors instead of failing.
pub(super) fn show(kubectl: &Kubectl, namespace: &str) {
    let questions: [(&str, Vec<&str>); 6] = [
        ("pods", vec!["get", "pods", "--all-namespaces", "-o", "wide"]),
        (
            "TrainJobs and JobSets",
            vec!["-n", namespace, "get", "trainjobs,jobsets", "-o", "yaml"],
        ),
        (
            "events of the TrainJob",
            vec!["-n", namespace, "get", "events", "--sort-by=.lastTimestamp"],
        ),
        (
            "events of the controller",
            vec!["-n", helm::NAMESPACE, "get", "events", "--sort-by=.lastTimestamp"],
        ),
        (
            "controller's log",
            vec!["-n", helm::NAMESPACE, "logs", helm::DEPLOYMENT, "--tail=40"],
        ),
        (
            "pods' logs",
            vec![
                "-n",
                namespace,
                "logs",
                "--selector=jobset.sigs.k8s.io/jobset-name",
                "--prefix",
                "--tail=40",
            ],
        ),
    ];
    for (what, arguments) in questions {
        print(&format!("--- {what}"));
        match kubectl.text(&arguments) {
            Ok(text) => print(text.trim_end()),
            Err(error) => print(&format!("({error:#})")),
        }
    }
}
