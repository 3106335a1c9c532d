//! Volcano: a PodGroup in one of its queues, and an annotation on its pods.

use serde_json::{Value, json};

use crate::api::names;
use crate::api::runtime::{NetworkTopology, VolcanoPolicy};
use crate::k8s::json as k8s_json;
use crate::k8s::path::FieldPath;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::draft::Draft;
use crate::plan::gang::{self, Gang, GangObject, GangScheduler, Served};
use crate::plan::replicated_job::{self, ReplicatedJobSpec};

/// `apiVersion` of its PodGroup.
const API_VERSION: &str = "scheduling.volcano.sh/v1beta1";
/// Annotation that makes a pod a member of a PodGroup.
const GROUP_ANNOTATION: &str = "scheduling.k8s.io/group-name";
/// Annotation of a runtime's template that names the queue.
const QUEUE_ANNOTATION: &str = "scheduling.volcano.sh/queue-name";

impl GangScheduler for VolcanoPolicy {
    fn name(&self) -> &'static str {
        "volcano"
    }

    fn priority_classes(&self, rjobs: &[ReplicatedJobSpec<'_>]) -> Vec<(String, String)> {
        gang::priority_classes_of_pods(rjobs)
    }

    fn check(&self, draft: &Draft<'_>, _members: &[usize], problems: &mut Problems) {
        if queue(draft) == Some("") {
            let field = FieldPath::new("spec.annotations").key(QUEUE_ANNOTATION);
            let message = format!(
                "the annotation {QUEUE_ANNOTATION} of the runtime's template names no queue; give it the name of one, or \
                 remove it"
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
        let members = gang.members.iter().map(|member| draft.spec(member.index));
        if let Some(class) = members.rev().find_map(ReplicatedJobSpec::priority_class) {
            spec.insert("priorityClassName".to_owned(), json!(class));
        }
        if let Some(topology) = &self.network_topology {
            spec.insert("networkTopology".to_owned(), network(topology));
        }
        let name = draft.job_name();
        for member in &gang.members {
            replicated_job::pod_metadata_mut(draft.rjob_mut(member.index), "annotations")
                .insert(GROUP_ANNOTATION.to_owned(), json!(name));
        }
        vec![GangObject::new(
            draft.job,
            API_VERSION,
            names::POD_GROUP,
            spec,
            Served::Whole,
        )]
    }
}

/// Gives the queue that the JobSet's own annotation names.
fn queue<'d>(draft: &'d Draft<'_>) -> Option<&'d str> {
    k8s_json::text(&draft.jobset, &["metadata", "annotations", QUEUE_ANNOTATION])
}

fn network(topology: &NetworkTopology) -> Value {
    json!({
        "mode": topology.mode.as_deref().unwrap_or("hard"),
        "highestTierAllowed": topology.highest_tier_allowed.unwrap_or(1),
    })
}
