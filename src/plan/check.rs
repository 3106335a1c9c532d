//! What a job may not ask for, given its runtime. Everything is looked at before anything is said.

use std::collections::BTreeSet;

use serde_json::Value;

use super::draft::{Draft, ReplicatedJob};
use super::framework::Framework;
use super::resolve::RUNTIME_REF;
use crate::api::trainjob::InitializerSource;
use crate::api::{JobSet, TrainJob, names};
use crate::k8s::json as k8s_json;
use crate::k8s::problem::{Problem, Problems, Reason};

/// Longest name of a pod, a host name.
const LONGEST_NAME: usize = 63;
/// Most Pods of a replicated job: batch/v1 takes no Indexed Job with more.
const MOST_PODS: i64 = 100_000;
/// Most Pods of a TrainJob: Kubernetes is not tested with more in a whole cluster.
const MOST_PODS_IN_ALL: i64 = 150_000;
/// What a Job appends to a pod's name: a hyphen and five characters.
const POD_SUFFIX: usize = 6;

/// Checks the job against the runtime as it is, before any patch.
pub(super) fn job(draft: &Draft<'_>, framework: &dyn Framework, problems: &mut Problems) {
    numbers(draft, problems);
    initializers(draft, problems);
    reserved_env(draft, framework, problems);
}

/// Refuses a runtime with problems. A label that switches the admission of a runtime off does not make a broken one usable.
pub(super) fn runtime(draft: &Draft<'_>, found: Problems, problems: &mut Problems) {
    problems.extend(found.into_iter().map(|problem| {
        Problem::invalid(
            RUNTIME_REF,
            format!(
                "{} {:?} cannot be used: {problem}",
                draft.runtime.kind.name(),
                draft.runtime.name()
            ),
        )
    }));
}

fn numbers(draft: &Draft<'_>, problems: &mut Problems) {
    let Some(trainer) = &draft.job.spec.trainer else {
        return;
    };
    if let Some(nodes) = trainer.num_nodes.filter(|n| *n < 0) {
        let message = format!("{nodes} is no number of nodes; use 0 or more");
        problems.push(Problem::invalid("spec.trainer.numNodes", message));
    }
    if let Some(processes) = trainer.num_proc_per_node.filter(|n| *n < 1) {
        let message = format!("{processes} is no number of processes; use 1 or more");
        problems.push(Problem::invalid("spec.trainer.numProcPerNode", message));
    }
}

/// Refuses more Pods than Kubernetes can run. Reports whether the counts are bounded: before they are, nothing may be
/// sized by them.
pub(super) fn counts_are_bounded(draft: &Draft<'_>, problems: &mut Problems) -> bool {
    let pods = |rjob: &ReplicatedJob| rjob.replicas.max(0).saturating_mul(rjob.count.max(0));
    let in_all = draft
        .rjobs
        .iter()
        .fold(0_i64, |sum, rjob| sum.saturating_add(pods(rjob)));
    let message = if let Some(rjob) = draft.rjobs.iter().find(|rjob| pods(rjob) > MOST_PODS) {
        format!(
            "replicated job {:?} would have {} Pods; a replicated job can have at most {MOST_PODS}",
            rjob.name,
            pods(rjob)
        )
    } else if in_all > MOST_PODS_IN_ALL {
        format!("the TrainJob would have {in_all} Pods; it can have at most {MOST_PODS_IN_ALL}")
    } else {
        return true;
    };
    let asked_by_job = draft.job.num_nodes().is_some_and(|nodes| nodes > MOST_PODS);
    let (field, fix) = if asked_by_job {
        ("spec.trainer.numNodes", "use fewer nodes")
    } else {
        (RUNTIME_REF, "use a runtime with fewer Pods")
    };
    problems.push(Problem::invalid(field, format!("{message}; {fix}")));
    false
}

fn initializers(draft: &Draft<'_>, problems: &mut Problems) {
    let Some(section) = &draft.job.spec.initializer else {
        return;
    };
    let parts = [
        ("dataset", names::DATASET_INITIALIZER, &section.dataset),
        ("model", names::MODEL_INITIALIZER, &section.model),
    ];
    for (part, name, source) in parts {
        let Some(source) = source else { continue };
        if let Some(lacks) = initializer_lacks(draft, name, source) {
            let message = format!("the job sets spec.initializer.{part}, but the runtime {lacks}");
            problems.push(Problem::invalid(RUNTIME_REF, message));
        }
        let env = source.env.as_deref().unwrap_or_default();
        let clash = env
            .iter()
            .any(|e| k8s_json::name(e.value()) == Some(names::STORAGE_URI));
        if clash && source.storage_uri.is_some() {
            let message = format!(
                "{} is set here and by spec.initializer.{part}.storageUri; keep one of the two",
                names::STORAGE_URI
            );
            problems.push(Problem::invalid(
                format!("spec.initializer.{part}.env").as_str(),
                message,
            ));
        }
    }
}

/// Tells what the runtime lacks for an initializer section to have an effect.
fn initializer_lacks(draft: &Draft<'_>, name: &str, source: &InitializerSource) -> Option<String> {
    let Some(rjob) = draft.rjobs.iter().find(|rjob| rjob.name == name) else {
        return Some(format!("has no replicated job {name:?}"));
    };
    let spec = draft.spec(rjob.index).pod();
    let found: Vec<&Value> = ["containers", "initContainers"]
        .into_iter()
        .filter_map(|list| k8s_json::named(k8s_json::list(spec, &[list]), name))
        .collect();
    if found.is_empty() {
        return Some(format!(
            "has no container {name:?} in its replicated job {name:?}"
        ));
    }
    // What comes from the data cache is not written to a volume.
    let scheme = source
        .storage_uri
        .as_deref()
        .and_then(|uri| uri.split_once("://"))
        .map(|(scheme, _)| scheme);
    if scheme == Some(names::CACHE_SCHEME) {
        return None;
    }
    let mounts = |c: &&Value| {
        k8s_json::named(k8s_json::list(c, &["volumeMounts"]), names::INITIALIZER_VOLUME).is_some()
    };
    (!found.iter().any(mounts)).then(|| {
        format!(
            "mounts no volume {:?} in container {name:?}",
            names::INITIALIZER_VOLUME
        )
    })
}

fn reserved_env(draft: &Draft<'_>, framework: &dyn Framework, problems: &mut Problems) {
    let env = draft.job.trainer_env();
    let set: BTreeSet<&str> = env
        .iter()
        .filter_map(|entry| k8s_json::name(entry.value()))
        .filter(|name| framework.reserves(name))
        .collect();
    if !set.is_empty() {
        let set = set.into_iter().collect::<Vec<_>>().join(", ");
        let message = format!(
            "{set}: set by the framework {}; remove from the job",
            framework.name()
        );
        problems.push(Problem::invalid("spec.trainer.env", message));
    }
}

/// A JobSet of the job's name that belongs to something else is left alone.
pub(super) fn jobset_is_ours(job: &TrainJob, jobset: &JobSet, problems: &mut Problems) {
    // A job without a UID is only in a file; whose JobSet stands beside it there cannot be told.
    if job.metadata.uid.is_some() && !job.controls(&jobset.metadata) {
        let message = "a JobSet of this name exists and belongs to another object; waiting until it is gone, \
                       or use another name";
        problems.push(Problem::new(Reason::Foreign, "metadata.name", message));
    }
}

/// Refuses names that would make pods with names that no pod can have. Looks at the counts that the job really gets.
pub(super) fn names_fit(draft: &Draft<'_>, problems: &mut Problems) {
    let length = draft.job_name().len();
    let Some((limit, rjob)) = draft
        .rjobs
        .iter()
        .map(|rjob| (longest_job_name(draft, rjob), rjob))
        .min_by_key(|l| l.0)
    else {
        return;
    };
    if length > limit {
        let message = format!(
            "{:?} has {length} characters, and the pods of replicated job {:?} ({} x {}) leave room for {limit}: \
             a pod's name may have {LONGEST_NAME}; use a shorter name",
            draft.job_name(),
            rjob.name,
            rjob.replicas,
            rjob.count,
        );
        problems.push(Problem::new(Reason::Name, "metadata.name", message));
    }
}

fn longest_job_name(draft: &Draft<'_>, rjob: &ReplicatedJob) -> usize {
    let digits = |count: i64| count.saturating_sub(1).max(0).to_string().len();
    let used = if draft.spec(rjob.index).completion_mode() == Some("NonIndexed") {
        // Only the Job's name counts: <job>-<replicated job>-<replica>.
        rjob.name.len() + digits(rjob.replicas) + 2
    } else {
        rjob.name.len() + digits(rjob.replicas) + digits(rjob.count.max(1)) + 3 + POD_SUFFIX
    };
    LONGEST_NAME.saturating_sub(used)
}
