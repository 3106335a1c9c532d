//! What Kueue makes of a job, where that differs.
//!
//! Kueue reserves quota for the pods that Kubeflow Trainer v2.3 would make, from code that it carries in itself; it never
//! looks at the JobSet. The right pods are made all the same. The author of a queued job gets a warning of what differs,
//! and of how the runtime is written so that both agree. Knows no framework: each says what upstream makes of it.

use serde_json::Value;

use super::draft::{Draft, ReplicatedJob};
use super::framework::{Framework, Part};
use crate::api::names;
use crate::k8s::quantity::Quantity;

/// Lists what of a queued job Kueue counts otherwise than it is, and what keeps it from being admitted.
pub(super) fn warnings(draft: &Draft<'_>, framework: &dyn Framework) -> Vec<String> {
    if !draft.job.queued() {
        return Vec::new();
    }
    let counts = draft
        .rjobs
        .iter()
        .filter_map(|rjob| count(draft, framework, rjob));
    let mut found: Vec<String> = counts.collect();
    let trainer = draft.job.spec.trainer.as_ref();
    if let Some(requested) = trainer.and_then(|trainer| trainer.resources_per_node.as_ref()) {
        let rjobs = draft.rjobs.iter();
        found.extend(rjobs.filter_map(|rjob| resources(draft, framework, rjob, requested.value())));
    }
    found.extend(framework.kueue_warnings(draft));
    found
}

/// Warns of a replicated job for which Kueue counts another number of pods than it has.
fn count(draft: &Draft<'_>, framework: &dyn Framework, rjob: &ReplicatedJob) -> Option<String> {
    let replicas = match rjob.section {
        Some(_) => None,
        None => draft.runtime_spec(rjob.index).replicas().and_then(Value::as_i64),
    };
    let theirs = framework
        .upstream_pods(draft, rjob)
        .saturating_mul(replicas.unwrap_or(1));
    (theirs != rjob.pods()).then(|| {
        format!(
            "Kueue reserves quota for {theirs} pod(s) of replicated job {:?}, which has {}; {}",
            rjob.name,
            rjob.pods(),
            framework.kueue_advice()
        )
    })
}

/// Warns of a replicated job for which Kueue counts other resources of `resourcesPerNode` than it gets.
fn resources(
    draft: &Draft<'_>,
    framework: &dyn Framework,
    rjob: &ReplicatedJob,
    requested: &Value,
) -> Option<String> {
    let place = format!("spec.trainer.resourcesPerNode, replicated job {:?}", rjob.name);
    let counted = framework.upstream_takes_resources(rjob);
    let taken = framework.takes(draft, rjob, Part::Resources);
    let taker = draft.find(rjob.index, names::NODE).filter(|_| taken);
    let what = match (counted, taker) {
        (true, None) => "Kueue reserves quota for them there, and it does not get them",
        (false, Some(_)) => "it gets them, and Kueue reserves no quota for that",
        (true, Some(taker)) => {
            let missed = missed(draft.resources(taker), requested);
            return (!missed.is_empty()).then(|| {
                format!(
                    "{place}: Kueue up to 0.19 takes it for all that the Pods ask for, which is not so for {}; set that \
                     in resourcesPerNode too, so that both agree",
                    missed.join(", ")
                )
            });
        }
        (false, None) => return None,
    };
    Some(format!(
        "{place}: {what}; leave resourcesPerNode out and put the resources into the runtime, so that both agree"
    ))
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
