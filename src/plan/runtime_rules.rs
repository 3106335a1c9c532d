//! What a runtime must be like, whoever asks: admission of the runtime itself, and of every TrainJob that names it.
//!
//! Knows the runtime alone. What a job needs of its runtime is checked with the job.

use serde_json::Value;

use super::{Runtime, frameworks, gang, roles, suggest};
use crate::api::names;
use crate::k8s::json as k8s_json;
use crate::k8s::path::FieldPath;
use crate::k8s::problem::{Problem, Problems};

/// Lists what is wrong with a runtime, with paths of the runtime.
///
/// A label that switches the admission of runtimes off does not switch these rules off for the jobs that name it.
pub fn check(runtime: &Runtime) -> Problems {
    let mut found = Problems::default();
    check_policies(runtime, &mut found);
    for (index, job) in replicated_jobs(runtime).iter().enumerate() {
        if let Some((ancestor, container)) = ancestor(job).and_then(section_container) {
            let path = FieldPath::new("spec.template.spec.replicatedJobs").index(index);
            check_replicas(job, ancestor, &path, &mut found);
            check_container(job, ancestor, container, &path, &mut found);
        }
    }
    frameworks::of(None, runtime).check_runtime(runtime, &mut found);
    found
}

/// Finds names of replicated jobs, in a list of a framework's policy, that the runtime does not have, and those that are
/// there twice. `field` is the member of an item that holds the name; empty where the item is the name.
pub(super) fn check_named_jobs<'r>(
    runtime: &Runtime,
    named: impl Iterator<Item = &'r str>,
    list: &FieldPath,
    field: &str,
    found: &mut Problems,
) {
    let known = || replicated_jobs(runtime).iter().map(name_of);
    let mut seen = Vec::new();
    for (index, name) in named.enumerate() {
        let path = list.index(index);
        let path = if field.is_empty() { path } else { path.field(field) };
        if seen.contains(&name) {
            found.push(Problem::invalid(
                path,
                format!("{name:?} is there twice; keep one of the two"),
            ));
        } else if !known().any(|job| job == name) {
            let hint = suggest::closest(name, known());
            found.push(Problem::invalid(
                path,
                format!("the runtime has no replicated job {name:?}{hint}"),
            ));
        }
        seen.push(name);
    }
}

/// Finds replicated jobs that have a role by their name and label, but no container whose program would play it.
pub(super) fn check_programs(runtime: &Runtime, has_role: impl Fn(&str, bool) -> bool, found: &mut Problems) {
    for (index, job) in replicated_jobs(runtime).iter().enumerate() {
        let trains = ancestor(job) == Some(names::TRAINER);
        // One that trains is told of by the rule of its section.
        if trains || !has_role(name_of(job), trains) || program(job, None).is_some() {
            continue;
        }
        let path = FieldPath::new("spec.template.spec.replicatedJobs").index(index);
        found.push(Problem::invalid(
            path.field("template.spec.template.spec.containers"),
            format!(
                "replicated job {:?} has a role in the framework, and it cannot be told which of its containers plays \
                 it; name that one {:?}",
                name_of(job),
                names::NODE
            ),
        ));
    }
}

/// Lists the names of the replicated jobs that fit, by their name and whether they train.
pub(super) fn jobs_where(runtime: &Runtime, fits: impl Fn(&str, bool) -> bool) -> Vec<&str> {
    let jobs = replicated_jobs(runtime).iter();
    jobs.filter(|job| fits(name_of(job), ancestor(job) == Some(names::TRAINER)))
        .map(name_of)
        .collect()
}

/// Finds a replicated job of a runtime by its name.
pub(super) fn replicated_job<'r>(runtime: &'r Runtime, name: &str) -> Option<&'r Value> {
    replicated_jobs(runtime).iter().find(|job| name_of(job) == name)
}

/// Finds the container of a replicated job whose program plays its role.
pub(super) fn program<'r>(job: &'r Value, wanted: Option<&str>) -> Option<&'r str> {
    roles::program_container(job.pointer("/template/spec/template/spec")?, wanted)
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
    let jobs = replicated_jobs(runtime);
    for job in jobs {
        let pod_label = job
            .pointer("/template/spec/template/metadata/labels")
            .and_then(|labels| labels.get(names::ANCESTOR_LABEL));
        if pod_label.is_some() && ancestor(job).is_none() {
            found.push(format!(
                "replicated job {:?} carries the label {} on its Pod template, where it has no effect; \
                 put it on the Job template (template.metadata.labels)",
                name_of(job),
                names::ANCESTOR_LABEL
            ));
        }
    }
    let has_trainer = jobs.iter().any(|job| ancestor(job) == Some(names::TRAINER));
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
    if runtime.spec.ml_policy.as_ref().is_some_and(|ml| ml.mpi.is_some()) {
        mpi_warnings(runtime, &mut found);
        launcher_warnings(runtime, &mut found);
    }
    found
}

fn mpi_warnings(runtime: &Runtime, found: &mut Vec<String>) {
    let nodes = runtime.spec.ml_policy.as_ref().and_then(|ml| ml.num_nodes);
    if let Some(nodes) = nodes.filter(|&n| n > 1) {
        found.push(format!(
            "mlPolicy.numNodes is {nodes}: MPI runs one launcher and takes the number as the total of nodes, but \
             Kueue counts {nodes} launchers and 1 worker; leave numNodes out and give the replicated job \
             {:?} its parallelism, so that both agree",
            names::NODE
        ));
    }
    let publishes = runtime
        .spec
        .template
        .as_ref()
        .and_then(|template| template.value().pointer("/spec/network/publishNotReadyAddresses"));
    if publishes == Some(&Value::Bool(false)) {
        found.push(
            "network.publishNotReadyAddresses is false: the launcher cannot resolve workers that are not ready yet"
                .to_owned(),
        );
    }
}

/// A launcher that starts processes on workers whose sshd does not listen yet fails, or waits for long.
fn launcher_warnings(runtime: &Runtime, found: &mut Vec<String>) {
    let jobs = replicated_jobs(runtime);
    let named = |name: &str| jobs.iter().find(|job| name_of(job) == name);
    let (Some(launcher), Some(node)) = (named(names::LAUNCHER), named(names::NODE)) else {
        return;
    };
    let in_order = runtime
        .spec
        .template
        .as_ref()
        .and_then(|template| template.value().pointer("/spec/startupPolicy/startupPolicyOrder"))
        .is_some_and(|order| order == "InOrder");
    let waits = k8s_json::list(launcher, &["dependsOn"])
        .iter()
        .any(|on| name_of(on) == names::NODE && k8s_json::text(on, &["status"]) == Some("Ready"));
    if !waits && !in_order {
        found.push(format!(
            "the replicated job {:?} does not wait for the workers: give it dependsOn: [{{name: {}, status: Ready}}]",
            names::LAUNCHER,
            names::NODE
        ));
    }
    let containers = node
        .pointer("/template/spec/template/spec/containers")
        .unwrap_or(&Value::Null);
    let worker = k8s_json::named(k8s_json::list(containers, &[]), names::NODE);
    if worker.is_some_and(|worker| worker.get("readinessProbe").is_none()) {
        found.push(format!(
            "container {:?} of the workers has no readinessProbe, so they count as ready before their sshd accepts \
             connections: probe its port, such as tcpSocket: {{port: 2222}}",
            names::NODE
        ));
    }
}

fn check_policies(runtime: &Runtime, found: &mut Problems) {
    if let Some(ml) = &runtime.spec.ml_policy {
        let path = FieldPath::new("spec.mlPolicy");
        let set = frameworks::names(ml);
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
        let implementation = ml.mpi.as_ref().and_then(|mpi| mpi.mpi_implementation.as_deref());
        if let Some(other) =
            implementation.filter(|i| !i.is_empty() && !names::MPI_IMPLEMENTATIONS.contains(i))
        {
            found.push(Problem::invalid(
                path.field("mpi").field("mpiImplementation"),
                format!(
                    "{other:?} is not supported; use one of {}",
                    names::MPI_IMPLEMENTATIONS.join(", ")
                ),
            ));
        }
    }
    let gangs = runtime
        .spec
        .pod_group_policy
        .as_ref()
        .map(gang::names)
        .unwrap_or_default();
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

fn check_replicas(job: &Value, ancestor: &str, path: &FieldPath, found: &mut Problems) {
    if let Some(replicas) = job
        .get("replicas")
        .filter(|r| !r.is_null() && r.as_i64() != Some(1))
    {
        found.push(Problem::invalid(
            path.field("replicas"),
            format!(
                "{replicas} replicas; a replicated job labelled {}={ancestor} must have 1 (the number of nodes is its \
                 parallelism)",
                names::ANCESTOR_LABEL
            ),
        ));
    }
}

fn check_container(job: &Value, ancestor: &str, wanted: &str, path: &FieldPath, found: &mut Problems) {
    let containers = job
        .pointer("/template/spec/template/spec/containers")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    if containers.iter().any(|c| name_of(c) == wanted) {
        return;
    }
    let has: Vec<String> = containers.iter().map(|c| format!("{:?}", name_of(c))).collect();
    found.push(Problem::invalid(
        path.field("template.spec.template.spec.containers"),
        format!(
            "a replicated job labelled {}={ancestor} needs a container named {wanted:?}; it has {}",
            names::ANCESTOR_LABEL,
            if has.is_empty() {
                "none".to_owned()
            } else {
                has.join(", ")
            }
        ),
    ));
}

/// Gives the container that a section of a TrainJob sets, for the replicated jobs that a section is about.
fn section_container(ancestor: &str) -> Option<(&str, &'static str)> {
    let container = match ancestor {
        names::TRAINER => names::NODE,
        names::DATASET_INITIALIZER => names::DATASET_INITIALIZER,
        names::MODEL_INITIALIZER => names::MODEL_INITIALIZER,
        _ => return None,
    };
    Some((ancestor, container))
}

fn replicated_jobs(runtime: &Runtime) -> &[Value] {
    runtime
        .spec
        .template
        .as_ref()
        .and_then(|template| template.value().pointer("/spec/replicatedJobs"))
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

fn ancestor(job: &Value) -> Option<&str> {
    job.pointer("/template/metadata/labels")?
        .get(names::ANCESTOR_LABEL)?
        .as_str()
}

fn name_of(item: &Value) -> &str {
    item.get("name").and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
                "spec.mlPolicy.mpi.mpiImplementation",
                "spec.podGroupPolicy"
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
