//! What a runtime must be like, whoever asks: admission of the runtime itself, and of every TrainJob that names it.
//!
//! Knows the runtime alone. What a job needs of its runtime is checked with the job.

use super::framework::Framework;
use super::gang::GangScheduler;
use super::inputs::Runtime;
use super::replicated_job::{CONTAINERS_FIELD, REPLICATED_JOBS, ReplicatedJobSpec, Section};
use super::{frameworks, gang_schedulers};
use crate::api::names;
use crate::k8s::path::FieldPath;
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::suggest;

/// Lists what is wrong with a runtime, with paths of the runtime.
///
/// A label that switches the admission of runtimes off does not switch these rules off for the jobs that name it.
pub fn check(runtime: &Runtime) -> Problems {
    let mut found = Problems::default();
    check_policies(runtime, &mut found);
    for (index, rjob) in runtime.replicated_jobs().enumerate() {
        if let Some(section) = rjob.section() {
            let path = FieldPath::new(REPLICATED_JOBS).index(index);
            check_replicas(rjob, section, &path, &mut found);
            check_container(rjob, section, &path, &mut found);
        }
    }
    for framework in runtime.spec.ml_policy.iter().flat_map(frameworks::all) {
        framework.check_runtime(runtime, &mut found);
    }
    found
}

/// Lists what an author of a runtime should know although it works.
pub fn warnings(runtime: &Runtime) -> Vec<String> {
    let mut found = Vec::new();
    if runtime.deprecated() {
        found.push(format!(
            "{} {:?} is deprecated; see {}",
            runtime.kind.name(),
            runtime.name(),
            names::DEPRECATION_POLICY_URL
        ));
    }
    for rjob in runtime.replicated_jobs() {
        if rjob.pod_label(names::ANCESTOR_LABEL).is_some() && rjob.ancestor().is_none() {
            found.push(format!(
                "replicated job {:?} carries the label {} on its Pod template, where it has no effect; \
                 put it on the Job template (template.metadata.labels)",
                rjob.name(),
                names::ANCESTOR_LABEL
            ));
        }
    }
    let has_trainer = runtime.replicated_jobs().any(ReplicatedJobSpec::trains);
    match &runtime.spec.ml_policy {
        Some(_) if !has_trainer => found.push(format!(
            "mlPolicy is set, but no replicated job is labelled {}={}: node counts, resources and the environment \
             of the framework reach no pod",
            names::ANCESTOR_LABEL,
            names::TRAINER
        )),
        None if has_trainer => found.push(format!(
            "a replicated job is labelled {}={}, but mlPolicy is not set: resourcesPerNode of a TrainJob has no effect",
            names::ANCESTOR_LABEL,
            names::TRAINER
        )),
        _ => {}
    }
    let frameworks = runtime.spec.ml_policy.iter().flat_map(frameworks::all);
    found.extend(frameworks.flat_map(|framework| framework.runtime_warnings(runtime)));
    found
}

fn check_policies(runtime: &Runtime, found: &mut Problems) {
    if let Some(ml) = &runtime.spec.ml_policy {
        let path = FieldPath::new("spec.mlPolicy");
        let set: Vec<_> = frameworks::all(ml).map(Framework::name).collect();
        if set.len() > 1 {
            found.push(Problem::invalid(
                path.clone(),
                format!("{} are set; keep only one of them", set.join(" and ")),
            ));
        }
        if let Some(nodes) = ml.num_nodes.filter(|&n| n < 0) {
            found.push(Problem::invalid(
                path.field("numNodes"),
                format!("{nodes} is no number of nodes; it must be 0 or more"),
            ));
        }
    }
    let gangs = runtime
        .spec
        .pod_group_policy
        .iter()
        .flat_map(gang_schedulers::all);
    let gangs: Vec<_> = gangs.map(GangScheduler::name).collect();
    if gangs.len() > 1 {
        found.push(Problem::invalid(
            FieldPath::new("spec.podGroupPolicy"),
            format!(
                "{} are set; keep only the one that places the pods",
                gangs.join(" and ")
            ),
        ));
    }
}

fn check_replicas(rjob: ReplicatedJobSpec<'_>, section: Section, path: &FieldPath, found: &mut Problems) {
    if let Some(replicas) = rjob.replicas().filter(|replicas| replicas.as_i64() != Some(1)) {
        found.push(Problem::invalid(
            path.field("replicas"),
            format!(
                "{replicas} replicas; a replicated job labelled {}={} must have 1 (the number of nodes is its \
                 parallelism)",
                names::ANCESTOR_LABEL,
                section.label()
            ),
        ));
    }
}

fn check_container(rjob: ReplicatedJobSpec<'_>, section: Section, path: &FieldPath, found: &mut Problems) {
    let wanted = section.container();
    if rjob.container(wanted).is_some() {
        return;
    }
    let has: Vec<&str> = rjob.container_names().collect();
    found.push(Problem::invalid(
        path.field(CONTAINERS_FIELD),
        format!(
            "a replicated job labelled {}={} needs a container named {wanted:?}; it has {}",
            names::ANCESTOR_LABEL,
            section.label(),
            suggest::list(&has).unwrap_or_else(|| "none".to_owned())
        ),
    ));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::plan::RuntimeKind;

    fn runtime(spec: Value) -> Runtime {
        Runtime {
            kind: RuntimeKind::Namespaced,
            metadata: serde_json::from_value(json!({"name": "r"})).unwrap(),
            spec: serde_json::from_value(spec).unwrap(),
        }
    }

    fn fields(spec: Value) -> Vec<String> {
        check(&runtime(spec))
            .into_iter()
            .map(|problem| problem.field.to_string())
            .collect()
    }

    fn job(ancestor: &str, container: &str, replicas: i32) -> Value {
        json!({
            "name": "some-job",
            "replicas": replicas,
            "template": {
                "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": ancestor}},
                "spec": {"template": {"spec": {"containers": [{"name": container}]}}},
            },
        })
    }

    fn template(jobs: &[Value]) -> Value {
        json!({"template": {"spec": {"replicatedJobs": jobs}}})
    }

    #[test]
    fn a_labelled_job_has_one_replica_and_its_container() {
        assert!(fields(template(&[job("trainer", "node", 1)])).is_empty());
        assert!(fields(template(&[job("dataset-initializer", "dataset-initializer", 1)])).is_empty());
        assert_eq!(
            fields(template(&[job("x", "y", 1), job("model-initializer", "node", 2)])),
            [
                "spec.template.spec.replicatedJobs[1].replicas",
                "spec.template.spec.replicatedJobs[1].template.spec.template.spec.containers"
            ]
        );
    }

    #[test]
    fn other_jobs_are_free() {
        assert!(fields(template(&[job("evaluator", "anything", 3)])).is_empty());
        assert!(fields(json!({})).is_empty());
    }

    #[test]
    fn policies_exclude_each_other() {
        assert_eq!(
            fields(json!({
                "mlPolicy": {"numNodes": -1, "torch": {}, "mpi": {"mpiImplementation": "LAM"}},
                "podGroupPolicy": {"coscheduling": {}, "volcano": {}},
            })),
            [
                "spec.mlPolicy",
                "spec.mlPolicy.numNodes",
                "spec.podGroupPolicy",
                "spec.mlPolicy.mpi.mpiImplementation"
            ]
        );
    }

    #[test]
    fn a_policy_without_a_trainer_and_a_trainer_without_a_policy_are_warned_of() {
        let warned = |spec| warnings(&runtime(spec)).len();
        let mut both = template(&[job("trainer", "node", 1)]);
        assert_eq!(warned(both.clone()), 1);
        both["mlPolicy"] = json!({"torch": {}});
        assert_eq!(warned(both), 0);
        assert_eq!(warned(json!({"mlPolicy": {}})), 1);
    }
}
