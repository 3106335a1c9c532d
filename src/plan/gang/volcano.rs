//! Volcano: a PodGroup in one of its queues, and an annotation on its pods.

use serde_json::{Value, json};

use super::{Gang, GangObject, GangScheduler, Served};
use crate::api::names;
use crate::api::runtime::NetworkTopology;
use crate::k8s::json as k8s_json;
use crate::k8s::path::FieldPath;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::draft::Draft;
use crate::plan::replicated_job;

/// Volcano.
pub(super) struct Volcano;

impl GangScheduler for Volcano {
    fn name(&self) -> &'static str {
        "volcano"
    }

    fn priority_classes(&self, draft: &Draft<'_>) -> Vec<(String, String)> {
        draft.priority_classes(0..draft.rjobs.len())
    }

    fn check(&self, draft: &Draft<'_>, _members: &[usize], problems: &mut Problems) {
        if queue(draft) == Some("") {
            let field = FieldPath::new("spec.annotations").key(names::VOLCANO_QUEUE_ANNOTATION);
            let message = format!(
                "the annotation {} of the runtime's template names no queue; give it the name of one, or remove it",
                names::VOLCANO_QUEUE_ANNOTATION
            );
            problems.push(Problem::invalid(field, message));
        }
    }

    fn no_effect(&self, scheduler: Option<&str>) -> Option<&'static str> {
        matches!(scheduler, None | Some(names::DEFAULT_SCHEDULER))
            .then_some("they name the default scheduler; set schedulerName: volcano in the runtime")
    }

    fn place(&self, draft: &mut Draft<'_>, gang: &Gang) -> Vec<GangObject> {
        let mut spec = gang.counted();
        if let Some(queue) = queue(draft) {
            spec.insert("queue".to_owned(), json!(queue));
        }
        let members = gang.members.iter().map(|member| member.index);
        if let Some((class, _)) = draft.priority_classes(members).pop() {
            spec.insert("priorityClassName".to_owned(), json!(class));
        }
        let policy = draft.runtime.spec.pod_group_policy.as_ref();
        if let Some(topology) = policy.and_then(|policy| policy.volcano.as_ref()?.network_topology.as_ref()) {
            spec.insert("networkTopology".to_owned(), network(topology));
        }
        let name = draft.job_name();
        for member in &gang.members {
            if let Some(job) = draft.replicated_job_mut(member.index) {
                replicated_job::pod_metadata_mut(job, "annotations")
                    .insert(names::VOLCANO_GROUP_ANNOTATION.to_owned(), json!(name));
            }
        }
        vec![GangObject::new(
            draft.job,
            names::VOLCANO_API_VERSION,
            names::POD_GROUP,
            spec,
            Served::Whole,
        )]
    }
}

/// Gives the queue that the JobSet's own annotation names.
fn queue<'d>(draft: &'d Draft<'_>) -> Option<&'d str> {
    k8s_json::text(
        &draft.jobset,
        &["metadata", "annotations", names::VOLCANO_QUEUE_ANNOTATION],
    )
}

fn network(topology: &NetworkTopology) -> Value {
    json!({
        "mode": topology.mode.as_deref().unwrap_or("hard"),
        "highestTierAllowed": topology.highest_tier_allowed.unwrap_or(1),
    })
}
