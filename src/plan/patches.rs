//! `spec.runtimePatches`: what they may touch, and how they are applied.

use serde_json::{Map, Value};

use super::draft::{Draft, ReplicatedJob};
use super::replicated_job::{POD_FIELD, ReplicatedJobSpec};
use super::trace::Stage;
use crate::api::names;
use crate::api::trainjob::RuntimePatch;
use crate::k8s::json as k8s_json;
use crate::k8s::path::FieldPath;
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::{strategic, suggest};

/// Containers that the job's own sections set; patches may not set their environment.
const SECTION_CONTAINERS: [&str; 3] = [names::NODE, names::DATASET_INITIALIZER, names::MODEL_INITIALIZER];

/// Checks all patches against the template as the runtime has it.
pub(super) fn check(draft: &Draft<'_>, problems: &mut Problems) {
    let list = FieldPath::new("spec.runtimePatches");
    for (at, patch) in draft.job.runtime_patches().iter().enumerate() {
        if !is_domain_prefixed(&patch.manager) {
            let message = format!(
                "{:?} is no domain-prefixed path; write a domain, a slash and a name, such as example.com/team",
                patch.manager
            );
            problems.push(Problem::invalid(list.index(at).field("manager"), message));
        }
        let path = list
            .index(at)
            .field("trainingRuntimeSpec.template.spec.replicatedJobs");
        for (at, job) in replicated_jobs(patch).enumerate() {
            check_job(draft, job, &path.index(at), problems);
        }
    }
}

fn check_job(draft: &Draft<'_>, job: ReplicatedJobSpec<'_>, path: &FieldPath, problems: &mut Problems) {
    let name = job.name();
    let Some(rjob) = draft.rjobs.iter().find(|rjob| rjob.name == name) else {
        let hint = suggest::hint(name, draft.rjobs.iter().map(|rjob| rjob.name.as_str()));
        let message = format!("the runtime has no replicated job {name:?}{hint}");
        problems.push(Problem::invalid(path.field("name"), message));
        return;
    };
    let patch = job.pod();
    let path = path.field(POD_FIELD);
    check_containers(
        draft,
        rjob,
        patch,
        "containers",
        "initContainers",
        &path,
        problems,
    );
    check_containers(
        draft,
        rjob,
        patch,
        "initContainers",
        "containers",
        &path,
        problems,
    );
}

fn check_containers(
    draft: &Draft<'_>,
    rjob: &ReplicatedJob,
    patch: &Value,
    list: &str,
    other_list: &str,
    path: &FieldPath,
    problems: &mut Problems,
) {
    let spec = draft.spec(rjob.index).pod();
    let known = |list: &str| k8s_json::list(spec, &[list]).iter().filter_map(k8s_json::name);
    for (at, container) in k8s_json::list(patch, &[list]).iter().enumerate() {
        let path = path.field(list).index(at);
        let name = k8s_json::name(container).unwrap_or_default();
        if !known(list).any(|k| k == name) {
            let hint = if known(other_list).any(|k| k == name) {
                format!("; it is one of its {other_list}, patch it there")
            } else {
                suggest::hint(name, known(list))
            };
            let message = format!(
                "job {:?} of the runtime has no {list} entry {name:?}{hint}",
                rjob.name
            );
            problems.push(Problem::invalid(path.field("name"), message));
        }
        let env = !k8s_json::list(container, &["env"]).is_empty();
        if list == "containers" && env && SECTION_CONTAINERS.contains(&name) {
            let section = if name == names::NODE {
                "spec.trainer.env"
            } else {
                "spec.initializer"
            };
            let message = format!("the environment of container {name:?} is not for patches; use {section}");
            problems.push(Problem::invalid(path.field("env"), message));
        }
    }
}

/// Applies all patches, in list order.
pub(super) fn apply(draft: &mut Draft<'_>) {
    let order: Vec<String> = draft.rjobs.iter().map(|rjob| rjob.name.clone()).collect();
    for patch in draft.job.runtime_patches() {
        let stage = Stage::Patch {
            manager: patch.manager.clone(),
        };
        draft.stage(&stage, |draft| apply_one(draft, patch));
    }
    // A merge may reorder a list; the runtime's order of replicated jobs is the one that counts.
    if let Some(Value::Array(jobs)) = draft
        .jobset
        .get_mut("spec")
        .and_then(|s| s.get_mut("replicatedJobs"))
    {
        let place = |job: &Value| order.iter().position(|name| k8s_json::name(job) == Some(name));
        jobs.sort_by_key(|job| place(job).unwrap_or(usize::MAX));
    }
    draft.survey();
}

fn apply_one(draft: &mut Draft<'_>, patch: &RuntimePatch) {
    let Some(template) = patch
        .training_runtime_spec
        .as_ref()
        .and_then(|spec| spec.get("template"))
    else {
        return;
    };
    for kind in ["labels", "annotations"] {
        if let Some(Value::Object(new)) = k8s_json::at(template, &["metadata", kind]) {
            k8s_json::object_mut(&mut draft.jobset, &["metadata", kind]).extend(new.clone());
        }
    }
    if let Some(Value::Object(spec)) = template.get("spec") {
        let empty = Map::new();
        let spec = if replicated_jobs(patch).next().is_none() {
            &empty
        } else {
            spec
        };
        strategic::merge(k8s_json::object_mut(&mut draft.jobset, &["spec"]), spec);
    }
}

fn replicated_jobs(patch: &RuntimePatch) -> impl Iterator<Item = ReplicatedJobSpec<'_>> {
    let template = patch
        .training_runtime_spec
        .as_ref()
        .and_then(|spec| spec.get("template"));
    ReplicatedJobSpec::list(template.unwrap_or(&Value::Null))
}

/// Tells whether a text is a DNS domain, a slash, and a path.
fn is_domain_prefixed(text: &str) -> bool {
    let Some((domain, path)) = text.split_once('/') else {
        return false;
    };
    let label = |label: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !label.is_empty() && label.chars().all(inner) && !label.starts_with('-') && !label.ends_with('-')
    };
    let path_char = |c: char| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c);
    domain.len() <= 253 && domain.split('.').all(label) && !path.is_empty() && path.chars().all(path_char)
}

#[cfg(test)]
mod tests {
    use super::is_domain_prefixed;

    #[test]
    fn managers_are_domain_prefixed_paths() {
        for good in [
            "trainer.kubeflow.org/kubeflow-sdk",
            "kueue.x-k8s.io/manager",
            "a.io/x/y",
        ] {
            assert!(is_domain_prefixed(good), "{good}");
        }
        for bad in [
            "", "nodomain", "/x", "a.io/", "A.io/x", "-a.io/x", "a..io/x", "a.io/x y",
        ] {
            assert!(!is_domain_prefixed(bad), "{bad}");
        }
    }
}
