//! What Kueue makes of a job, where that differs.
//!
//! Kueue reserves quota for the pods that Kubeflow Trainer v2.3 would make, from code that it carries in itself; it never
//! looks at the JobSet. The right pods are made all the same, and the author of a queued job is told what differs and how
//! the runtime can be written so that both agree.

use serde_json::Value;

use super::draft::{Draft, ReplicatedJob};
use super::frameworks::{Framework, Part};
use crate::api::names;
use crate::k8s::quantity::Quantity;

/// Warns about each replicated job for which Kueue reserves something else than is used.
pub(super) fn warn(draft: &mut Draft<'_>, framework: &dyn Framework) {
    if !draft.job.queued() {
        return;
    }
    let counts = draft.rjobs.iter().filter_map(|rjob| {
        let replicas = match rjob.section {
            Some(_) => 1,
            None => draft
                .runtime_spec(rjob)
                .replicas()
                .and_then(Value::as_i64)
                .unwrap_or(1),
        };
        let theirs = count(draft, rjob).saturating_mul(replicas);
        (theirs != rjob.pods()).then(|| {
            format!(
                "Kueue reserves quota for {theirs} pod(s) of replicated job {:?}, which has {}; {}",
                rjob.name,
                rjob.pods(),
                advice(draft)
            )
        })
    });
    let requested = draft
        .job
        .spec
        .trainer
        .as_ref()
        .and_then(|t| t.resources_per_node.as_ref());
    let resources = draft.rjobs.iter().filter_map(|rjob| {
        let place = format!("spec.trainer.resourcesPerNode, replicated job {:?}", rjob.name);
        let ours = framework.takes(draft, rjob, Part::Resources) && draft.runtime.spec.ml_policy.is_some();
        let who = match (takes_resources(draft, rjob), ours) {
            (true, false) => "Kueue reserves quota for them there, and it does not get them",
            (false, true) => "it gets them, and Kueue reserves no quota for that",
            (true, true) => {
                let missed = missed(draft.resources(rjob.index, names::NODE), requested?.value());
                return (!missed.is_empty()).then(|| {
                    format!(
                        "{place}: Kueue up to 0.19 takes it for all that the Pods ask for, which is not so for {}; set \
                         that in resourcesPerNode too, so that both agree",
                        missed.join(", ")
                    )
                });
            }
            (false, false) => return None,
        };
        Some(format!(
            "{place}: {who}; leave resourcesPerNode out and put the resources into the runtime, so that both agree"
        ))
    });
    let resources: Vec<String> = if requested.is_some() {
        resources.collect()
    } else {
        Vec::new()
    };
    let mut found: Vec<String> = counts.chain(resources).collect();
    let policy = draft.runtime.spec.ml_policy.as_ref();
    if policy.is_some_and(|ml| ml.flux.is_some()) && draft.job.spec.trainer.is_none() {
        found
            .push("Kueue cannot admit a Flux job without spec.trainer; set spec.trainer.numNodes".to_owned());
    }
    let implementation = policy.and_then(|ml| ml.mpi.as_ref()?.mpi_implementation.as_deref());
    if let Some(other) = implementation.filter(|name| !name.is_empty() && *name != "OpenMPI") {
        found.push(format!(
            "Kueue refuses jobs whose runtime has the mpiImplementation {other}; take a runtime with OpenMPI"
        ));
    }
    draft.warnings.extend(found);
}

fn is_mpi(draft: &Draft<'_>) -> bool {
    draft
        .runtime
        .spec
        .ml_policy
        .as_ref()
        .is_some_and(|ml| ml.mpi.is_some())
}

fn launcher_is_node(draft: &Draft<'_>) -> bool {
    let mpi = draft
        .runtime
        .spec
        .ml_policy
        .as_ref()
        .and_then(|ml| ml.mpi.as_ref());
    mpi.and_then(|mpi| mpi.run_launcher_as_node).unwrap_or(false)
}

fn advice(draft: &Draft<'_>) -> String {
    if is_mpi(draft) {
        format!(
            "set spec.trainer.numNodes (2 or more where the launcher is a node), or leave mlPolicy.numNodes out of the \
             runtime and give replicated job {:?} its parallelism",
            names::NODE
        )
    } else {
        format!(
            "label only the replicated job that spec.trainer.numNodes is for with {}={}, and give the others their \
             parallelism",
            names::ANCESTOR_LABEL,
            names::TRAINER
        )
    }
}

/// The pods that Kubeflow Trainer v2.3 gives a replicated job.
fn count(draft: &Draft<'_>, rjob: &ReplicatedJob) -> i64 {
    let wanted = draft.job.num_nodes();
    if is_mpi(draft) {
        if let (names::NODE, Some(wanted)) = (rjob.name.as_str(), wanted) {
            return if launcher_is_node(draft) {
                (wanted - 1).max(1)
            } else {
                wanted
            };
        }
    } else if let (Some(wanted), true) = (wanted, draft.trainer().is_some_and(|t| t.index == rjob.index)) {
        return wanted;
    }
    match &draft.runtime.spec.ml_policy {
        Some(policy) if rjob.trains() => i64::from(policy.num_nodes.unwrap_or(1)).max(1),
        _ => draft.runtime_spec(rjob).parallelism().unwrap_or(1).max(1),
    }
}

/// Lists the resources of which a container asks for another amount than the job alone does. Kueue up to 0.19 carries
/// Kubeflow Trainer v2.2, which puts the job's resources in the place of the runtime's.
fn missed<'a>(merged: &'a Value, requested: &Value) -> Vec<&'a str> {
    if requested.get("limits").is_none() && requested.get("requests").is_none() {
        return Vec::new();
    }
    let mut missed = Vec::new();
    for resource in ["limits", "requests"]
        .iter()
        .filter_map(|kind| merged.get(kind)?.as_object())
        .flat_map(|amounts| amounts.keys())
    {
        let resource = resource.as_str();
        if asked(merged, resource) != asked(requested, resource) && !missed.contains(&resource) {
            missed.push(resource);
        }
    }
    missed
}

/// The amount of a resource that is asked for: a limit where there is no request.
fn asked(resources: &Value, resource: &str) -> Option<Quantity> {
    let amount = ["requests", "limits"]
        .iter()
        .find_map(|kind| resources.get(kind)?.get(resource))?;
    Quantity::from_json(amount).ok()
}

/// Whether Kubeflow Trainer v2.3 puts `resourcesPerNode` into a replicated job.
fn takes_resources(draft: &Draft<'_>, rjob: &ReplicatedJob) -> bool {
    let worker = is_mpi(draft) && launcher_is_node(draft) && rjob.name == names::NODE;
    draft.runtime.spec.ml_policy.is_some() && (rjob.trains() || worker)
}
