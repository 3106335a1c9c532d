//! Admission of TrainJobs.

use std::sync::Arc;

use serde_json::Value;

use super::{Verdict, patches};
use crate::api::TrainJob;
use crate::k8s::problem::{Problem, Problems, Reason};
use crate::plan::{self, ClusterFacts, Config, Inputs, Observed, Runtime};

/// The operation on a `TrainJob`.
#[derive(Clone, Copy, Debug)]
pub enum Operation<'a> {
    /// It is created.
    Create,
    /// It replaces this one.
    Update(&'a TrainJob),
}

/// A request to create or update a `TrainJob`.
#[derive(Clone, Debug)]
pub struct TrainJobRequest<'a> {
    /// The operation.
    pub operation: Operation<'a>,
    /// The job as it would be stored.
    pub job: &'a TrainJob,
    /// The runtime that the job names, read live; `None` if it does not exist.
    pub runtime: Option<Arc<Runtime>>,
    /// Settings of the program.
    pub config: &'a Config,
    /// What exists of the job; it matters to changes only.
    pub observed: &'a Observed,
    /// Facts of the cluster.
    pub facts: &'a ClusterFacts,
}

/// Checks a TrainJob.
///
/// A job that is being deleted passes, and so does an update that changes nothing in the spec but `suspend`: neither the
/// runtime nor any rule may prevent it from ending.
pub fn train_job(request: &TrainJobRequest<'_>) -> Verdict {
    match request.operation {
        Operation::Create => create(request),
        Operation::Update(old) => update(request, old),
    }
}

fn create(request: &TrainJobRequest<'_>) -> Verdict {
    let (problems, warnings) = planned(request, Observed::default());
    Verdict { problems, warnings }
}

fn update(request: &TrainJobRequest<'_>, old: &TrainJob) -> Verdict {
    if request.job.metadata.deletion_timestamp.is_some() || same_but_for_suspension(old, request.job) {
        return Verdict::default();
    }
    let observed = Observed {
        jobset: None,
        snapshot: request
            .observed
            .snapshot
            .clone()
            .filter(|snapshot| request.job.controls(&snapshot.metadata)),
        ..request.observed.clone()
    };
    let (found, warnings) = planned(request, observed);
    let mut problems = Problems::default();
    problems.extend(patches::check_change(
        old,
        request.job,
        request.observed.jobset.as_ref(),
    ));
    problems.extend(found.into_iter().filter(|problem| !settled_at_creation(problem)));
    Verdict { problems, warnings }
}

/// Reports whether a problem can only refuse a creation: an unsuitable name, or a runtime that was deleted since.
fn settled_at_creation(problem: &Problem) -> bool {
    matches!(problem.reason, Reason::Name | Reason::NotFound)
}

fn planned(request: &TrainJobRequest<'_>, observed: Observed) -> (Problems, Vec<String>) {
    let inputs = Inputs {
        job: request.job,
        runtime: request.runtime.clone(),
        config: request.config,
        observed,
    };
    match plan::plan(inputs, request.facts) {
        Ok(plan) => (Problems::default(), plan.warnings),
        Err(problems) => (problems, Vec::new()),
    }
}

fn same_but_for_suspension(old: &TrainJob, new: &TrainJob) -> bool {
    let spec = |job: &TrainJob| {
        let mut spec = serde_json::to_value(&job.spec).unwrap_or_default();
        if let Some(fields) = spec.as_object_mut() {
            fields.remove("suspend");
        }
        spec
    };
    let (old, new) = (spec(old), spec(new));
    old == new && old != Value::Null
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::RuntimeKind;

    /// The facts of a test.
    #[derive(Default)]
    struct World {
        jobset: Option<Value>,
        without_runtime: bool,
    }

    fn job(change: &Value) -> TrainJob {
        let mut job = json!({
            "metadata": {"name": "a-job", "namespace": "ns", "uid": "1"},
            "spec": {"runtimeRef": {"name": "r"}, "trainer": {"numNodes": 2}},
        });
        for (path, value) in change.as_object().unwrap() {
            let (parent, key) = path.rsplit_once('/').unwrap();
            job.pointer_mut(parent).unwrap()[key] = value.clone();
        }
        serde_json::from_value(job).unwrap()
    }

    fn runtime() -> Arc<Runtime> {
        Arc::new(Runtime {
            kind: RuntimeKind::Cluster,
            metadata: serde_json::from_value(json!({"name": "r"})).unwrap(),
            spec: serde_json::from_value(
                json!({"mlPolicy": {"torch": {}}, "template": {"spec": {"replicatedJobs": [{
                    "name": "node",
                    "template": {
                        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
                        "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "i"}]}}},
                    },
                }]}}}),
            )
            .unwrap(),
        })
    }

    fn fields(old: Option<&Value>, new: &Value, world: &World) -> Vec<String> {
        let old = old.map(job);
        let observed = Observed {
            jobset: world
                .jobset
                .clone()
                .map(|jobset| serde_json::from_value(jobset).unwrap()),
            ..Observed::default()
        };
        let verdict = train_job(&TrainJobRequest {
            operation: old.as_ref().map_or(Operation::Create, Operation::Update),
            job: &job(new),
            runtime: (!world.without_runtime).then(runtime),
            config: &Config::default(),
            observed: &observed,
            facts: &ClusterFacts::default(),
        });
        verdict.problems.iter().map(|p| p.field.to_string()).collect()
    }

    fn patch(value: &str) -> Value {
        json!([{"manager": "a.io/b", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [
            {"name": "node", "template": {"spec": {"template": {"spec": {"nodeSelector": {"pool": value}}}}}},
        ]}}}}])
    }

    const LONG: &str = "a-name-of-fifty-characters-is-too-long-for-its-pods";

    #[test]
    fn a_new_job_is_refused_if_it_cannot_be_planned() {
        let world = World::default();
        assert!(fields(None, &json!({}), &world).is_empty());
        assert_eq!(
            fields(None, &json!({"/metadata/name": LONG}), &world),
            ["metadata.name"]
        );
        let world = World {
            without_runtime: true,
            ..world
        };
        assert_eq!(fields(None, &json!({}), &world), ["spec.runtimeRef"]);
    }

    #[test]
    fn an_update_passes_with_a_long_name_or_a_deleted_runtime() {
        let old = json!({"/metadata/name": LONG, "/spec/suspend": true});
        let new = json!({"/metadata/name": LONG, "/spec/suspend": true, "/spec/runtimePatches": patch("a")});
        for without_runtime in [false, true] {
            let world = World {
                without_runtime,
                ..World::default()
            };
            assert!(fields(Some(&old), &new, &world).is_empty());
        }
    }

    #[test]
    fn suspend_metadata_and_deletion_pass_whatever_else_is_wrong() {
        let world = World {
            without_runtime: true,
            ..World::default()
        };
        let broken = |key: &str, value: Value| json!({"/spec/trainer/env": [{"name": "PET_NNODES", "value": "1"}], key: value});
        let old = broken("/spec/suspend", json!(false));
        assert!(fields(Some(&old), &broken("/spec/suspend", json!(true)), &world).is_empty());
        assert!(fields(Some(&old), &broken("/metadata/labels", json!({"a": "b"})), &world).is_empty());
        let deleted = broken("/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"));
        assert!(fields(Some(&old), &deleted, &world).is_empty());
    }

    #[test]
    fn patches_change_only_while_the_job_is_suspended_before_or_after() {
        let world = World::default();
        let with = |suspend: bool, pool: &str| json!({"/spec/suspend": suspend, "/spec/runtimePatches": patch(pool)});
        assert_eq!(
            fields(Some(&with(false, "a")), &with(false, "b"), &world),
            ["spec.runtimePatches"]
        );
        for (before, after) in [(true, true), (true, false), (false, true)] {
            assert!(fields(Some(&with(before, "a")), &with(after, "b"), &world).is_empty());
        }
        let later = json!({"/spec/suspend": false, "/spec/runtimePatches": [
            {"manager": "a.io/b", "time": "2026-01-01T00:00:00Z"},
        ]});
        let sooner = json!({"/spec/suspend": false, "/spec/runtimePatches": [{"manager": "a.io/b"}]});
        assert!(fields(Some(&sooner), &later, &world).is_empty());
    }

    #[test]
    fn patches_do_not_change_while_the_job_still_has_pods() {
        let counts = |active| json!({"name": "node", "ready": 0, "succeeded": 0, "failed": 0, "active": active, "suspended": 0});
        let world = |active| World {
            jobset: Some(json!({
                "metadata": {"name": "a-job"},
                "spec": {},
                "status": {"replicatedJobsStatus": [counts(active)]},
            })),
            without_runtime: false,
        };
        let old = json!({"/spec/suspend": true});
        let new = json!({"/spec/suspend": true, "/spec/runtimePatches": patch("a")});
        assert_eq!(fields(Some(&old), &new, &world(1)), ["spec.runtimePatches"]);
        assert!(fields(Some(&old), &new, &world(0)).is_empty());
    }
}
