//! No gang waits for pods that cannot come: runtimes of all shapes are played through as JobSet and a gang scheduler
//! would, with events in any order.
//!
//! JobSet makes the pods of a replicated job when what it waits for is ready or has ended. A pod outside the gang finds
//! a place at once; the pods of the gang find theirs as soon as enough of them are there that have not ended.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use trainer::api::{TrainJob, TrainingRuntime};
use trainer::plan::{ClusterFacts, Config, Inputs, Known, Observed, Plan, Runtime, plan, resolve};

const LABEL: &str = "trainer.kubeflow.org/trainjob-ancestor-step";

/// A replicated job of a runtime, drawn by chance.
#[derive(Clone, Debug)]
struct Drawn {
    role: usize,
    pods: i64,
    replicas: i64,
    /// Bits: which of the replicated jobs before it are waited for, and which of those until their end.
    waits: u8,
    ends: u8,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let bits = || prop_oneof![2 => Just(0_u8), 3 => any::<u8>()];
    (0..6_usize, 1..4_i64, 1..3_i64, bits(), any::<u8>()).prop_map(|(role, pods, replicas, waits, ends)| {
        Drawn {
            role,
            pods,
            replicas,
            waits,
            ends,
        }
    })
}

/// Gives a runtime of the drawn replicated jobs.
fn runtime(jobs: &[Drawn], framework: usize, scheduler: usize, in_order: bool) -> Value {
    let mut rendered: Vec<Value> = Vec::new();
    for (at, drawn) in jobs.iter().enumerate() {
        let taken = |name: &str| rendered.iter().any(|job| job["name"] == name);
        // Each name of a section once; the name decides what MPI takes for its launcher and nodes.
        let (name, section, container) = match drawn.role {
            0 | 1 if !taken("node") => ("node".to_owned(), Some("trainer"), "node"),
            2 if !taken("launcher") => ("launcher".to_owned(), Some("trainer"), "node"),
            3 if !taken("dataset-initializer") => (
                "dataset-initializer".to_owned(),
                Some("dataset-initializer"),
                "dataset-initializer",
            ),
            4 if !taken("model-initializer") => (
                "model-initializer".to_owned(),
                Some("model-initializer"),
                "model-initializer",
            ),
            _ => (format!("other-{at}"), None, "c"),
        };
        let waits = |before: &usize| drawn.waits >> before & 1 == 1;
        let depends: Vec<Value> = (0..at)
            .filter(waits)
            .map(|before| {
                let status = if drawn.ends >> before & 1 == 1 {
                    "Complete"
                } else {
                    "Ready"
                };
                json!({"name": rendered[before]["name"], "status": status})
            })
            .collect();
        let mut job = json!({
            "name": name,
            "replicas": if section.is_some() { 1 } else { drawn.replicas },
            "template": {"spec": {
                "parallelism": drawn.pods,
                "template": {"spec": {"containers": [{"name": container, "image": "i"}]}},
            }},
        });
        if let Some(section) = section {
            job["template"]["metadata"] = json!({"labels": {LABEL: section}});
        }
        if !depends.is_empty() {
            job["dependsOn"] = json!(depends);
        }
        rendered.push(job);
    }
    let framework = [
        json!({}),
        json!({"torch": {}}),
        json!({"torch": {"elastic": {"minNodes": 1}}}),
        json!({"mpi": {}}),
        json!({"jax": {}}),
        json!({"xgboost": {}}),
    ][framework]
        .clone();
    let scheduler = ["coscheduling", "volcano", "workload"][scheduler];
    let order = if in_order { "InOrder" } else { "AnyOrder" };
    json!({
        "metadata": {"name": "r", "namespace": "ns"},
        "spec": {
            "mlPolicy": framework,
            "podGroupPolicy": {scheduler: {}},
            "template": {"spec": {"replicatedJobs": rendered, "startupPolicy": {"startupPolicyOrder": order}}},
        },
    })
}

/// How the pods of one replicated job are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Pods {
    NotMade,
    Waiting,
    Placed,
    Ended,
}

/// One replicated job of a JobSet, as it is played through.
struct Part {
    number: i64,
    member: bool,
    /// What it waits for, and whether that must have ended.
    waits: Vec<(usize, bool)>,
    pods: Pods,
}

/// A JobSet, as it is played through.
struct Play {
    parts: Vec<Part>,
    /// Pods that the gang waits for, if there is one.
    least: i64,
}

impl Play {
    fn of(plan: &Plan) -> Self {
        let spec = &plan.jobset.object["spec"];
        let jobs = spec["replicatedJobs"].as_array().unwrap();
        let in_order = spec["startupPolicy"]["startupPolicyOrder"] == "InOrder";
        let parts = jobs.iter().enumerate().map(|(at, job)| {
            let pod = &job["template"]["spec"]["template"];
            let marks = [
                pod["metadata"]["labels"].get("scheduling.x-k8s.io/pod-group"),
                pod["metadata"]["annotations"].get("scheduling.k8s.io/group-name"),
                pod["spec"]["schedulingGroup"].get("podGroupName"),
            ];
            let depends = job["dependsOn"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|dependency| {
                    let place = jobs
                        .iter()
                        .position(|other| other["name"] == dependency["name"])
                        .unwrap();
                    (place, dependency["status"] == "Complete")
                });
            Part {
                number: job["replicas"].as_i64().unwrap()
                    * job["template"]["spec"]["parallelism"].as_i64().unwrap(),
                member: marks.iter().flatten().any(|mark| **mark == "job"),
                waits: (at > 0 && in_order)
                    .then(|| (at - 1, false))
                    .into_iter()
                    .chain(depends)
                    .collect(),
                pods: Pods::NotMade,
            }
        });
        let group = plan
            .gang_objects
            .iter()
            .map(|gang| &gang.object)
            .find(|object| object["kind"] == "PodGroup");
        let least = group.and_then(|group| {
            group["spec"]["minMember"]
                .as_i64()
                .or(group["spec"]["schedulingPolicy"]["gang"]["minCount"].as_i64())
        });
        let play = Self {
            parts: parts.collect(),
            least: least.unwrap_or(0),
        };
        assert_eq!(
            group.is_some(),
            play.parts.iter().any(|part| part.member && part.number > 0)
        );
        assert!(group.is_none() || play.least >= 1);
        play
    }

    fn may_start(&self, part: &Part) -> bool {
        part.pods == Pods::NotMade
            && part.waits.iter().all(|(other, until_end)| {
                let other = &self.parts[*other];
                other.pods == Pods::Ended || !until_end && (other.pods == Pods::Placed || other.number == 0)
            })
    }

    /// Counts the pods of the gang that are there and have not ended.
    fn there(&self) -> i64 {
        let there = self
            .parts
            .iter()
            .filter(|part| part.member && matches!(part.pods, Pods::Waiting | Pods::Placed));
        there.map(|part| part.number).sum()
    }

    /// Lets one thing happen, picked by `choice`; tells whether there was any.
    fn step(&mut self, choice: usize) -> bool {
        let full = self.there() >= self.least;
        let mut possible: Vec<usize> = Vec::new();
        for (at, part) in self.parts.iter().enumerate() {
            let goes_on = match part.pods {
                Pods::NotMade => self.may_start(part),
                Pods::Waiting => !part.member || full,
                Pods::Placed => true,
                Pods::Ended => false,
            };
            if goes_on {
                possible.push(at);
            }
        }
        let Some(&at) = possible.get(choice % possible.len().max(1)) else {
            return false;
        };
        match self.parts[at].pods {
            // JobSet makes all at once that it may make.
            Pods::NotMade => {
                let start: Vec<bool> = self.parts.iter().map(|part| self.may_start(part)).collect();
                for (part, start) in self.parts.iter_mut().zip(start) {
                    if start {
                        part.pods = if part.number == 0 {
                            Pods::Ended
                        } else {
                            Pods::Waiting
                        };
                    }
                }
            }
            // The scheduler binds all of a gang that are there.
            Pods::Waiting if self.parts[at].member => {
                for part in &mut self.parts {
                    if part.member && part.pods == Pods::Waiting {
                        part.pods = Pods::Placed;
                    }
                }
            }
            Pods::Waiting => self.parts[at].pods = Pods::Placed,
            Pods::Placed => self.parts[at].pods = Pods::Ended,
            Pods::Ended => {}
        }
        true
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_gang_is_filled_whatever_happens_first(
        jobs in prop::collection::vec(drawn(), 1..6),
        framework in 0..6_usize,
        scheduler in 0..3_usize,
        in_order in any::<bool>(),
        nodes in prop::option::of(0..4),
        choices in prop::collection::vec(any::<usize>(), 40),
    ) {
        let runtime: TrainingRuntime = serde_json::from_value(runtime(&jobs, framework, scheduler, in_order)).unwrap();
        let runtime = Runtime::from(runtime);
        let job: TrainJob = serde_json::from_value(json!({
            "metadata": {"name": "job", "namespace": "ns"},
            "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": "r"}, "trainer": {"numNodes": nodes}},
        })).unwrap();
        let inputs = Inputs {
            job: &job,
            runtime: Some(Arc::new(runtime)),
            config: &Config::default(),
            observed: Observed::default(),
        };
        match plan(inputs, &ClusterFacts::default()) {
            Ok(plan) => {
                let mut play = Play::of(&plan);
                let mut choices = choices.into_iter().cycle();
                while play.step(choices.next().unwrap()) {}
                let stuck: Vec<_> = play.parts.iter().filter(|part| part.pods != Pods::Ended).map(|p| p.pods).collect();
                prop_assert!(stuck.is_empty(), "{stuck:?} of {:#}\n{:#?}", plan.jobset.object, plan.gang_objects);
            }
            // Other rules may refuse what was drawn, but these replicated jobs never wait for each other in a circle.
            Err(problems) => prop_assert!(!problems.to_string().contains("podGroupPolicy"), "{problems}"),
        }
    }
}

#[test]
fn required_facts_are_named_and_what_cannot_be_looked_up_is_a_warning() {
    let mut object = runtime(
        &[Drawn {
            role: 0,
            pods: 2,
            replicas: 1,
            waits: 0,
            ends: 0,
        }],
        0,
        1,
        false,
    );
    let pod = object
        .pointer_mut("/spec/template/spec/replicatedJobs/0/template/spec/template/spec")
        .unwrap();
    pod["priorityClassName"] = json!("gold");
    pod["runtimeClassName"] = json!("kata");
    pod["schedulerName"] = json!("volcano");
    let runtime = serde_json::from_value::<TrainingRuntime>(object).unwrap();
    let runtime = Arc::new(Runtime::from(runtime));
    let job = json!({"metadata": {"name": "job", "namespace": "ns"}, "spec": {"runtimeRef": {"kind": "TrainingRuntime", "name": "r"}}});
    let job: TrainJob = serde_json::from_value(job).unwrap();
    let config = Config::default();
    let with = |observed: &Observed, facts: &ClusterFacts| {
        let resolved = resolve(Inputs {
            job: &job,
            runtime: Some(Arc::clone(&runtime)),
            config: &config,
            observed: observed.clone(),
        })
        .unwrap();
        (resolved.required_facts(), resolved.plan(facts))
    };
    let (mut observed, mut facts) = (Observed::default(), ClusterFacts::default());
    let (required, refused) = with(&observed, &facts);
    let required = required.unwrap();
    assert_eq!(required.runtime_classes.into_iter().collect::<Vec<_>>(), ["kata"]);
    assert_eq!(
        required.priority_classes.into_iter().collect::<Vec<_>>(),
        ["gold"]
    );
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("PriorityClass \"gold\"")
    );

    let (snapshot, jobset) = {
        facts.priority_classes.insert("gold".to_owned(), Known::Exists);
        let plan = with(&observed, &facts).1.unwrap();
        assert!(plan.warnings.is_empty(), "{:?}", plan.warnings);
        (plan.snapshot, serde_json::from_value(plan.jobset.object).unwrap())
    };
    let unknown = Known::Unknown("forbidden".to_owned());
    facts.priority_classes.insert("gold".to_owned(), unknown);
    let plan = with(&observed, &facts).1.unwrap();
    assert!(
        plan.warnings.iter().any(|warning| warning.contains("forbidden")),
        "{:?}",
        plan.warnings
    );

    // A snapshot says as much as the runtime that it was taken of, once there is a JobSet of it.
    observed.snapshot = snapshot;
    observed.jobset = Some(jobset);
    assert!(with(&observed, &facts).0.is_some());
}
