//! The coscheduling plugin of scheduler-plugins: a PodGroup, and a label on its pods.

use serde_json::json;

use crate::api::names;
use crate::api::runtime::CoschedulingPolicy;
use crate::plan::draft::Draft;
use crate::plan::gang::{Gang, GangObject, GangScheduler, Served};
use crate::plan::replicated_job::{self, ReplicatedJobSpec};

/// `apiVersion` of its PodGroup.
const API_VERSION: &str = "scheduling.x-k8s.io/v1alpha1";
/// Label that makes a pod a member of a PodGroup.
const LABEL: &str = "scheduling.x-k8s.io/pod-group";
/// Seconds that a gang waits for its last pod where the runtime does not say.
const DEFAULT_TIMEOUT: i32 = 60;

impl GangScheduler for CoschedulingPolicy {
    fn name(&self) -> &'static str {
        "coscheduling"
    }

    fn priority_classes(&self, _rjobs: &[ReplicatedJobSpec<'_>]) -> Vec<(String, String)> {
        Vec::new()
    }

    fn place(&self, draft: &mut Draft<'_>, gang: &Gang) -> Vec<GangObject> {
        let timeout = self.schedule_timeout_seconds;
        let timeout = timeout.filter(|seconds| *seconds != 0).unwrap_or(DEFAULT_TIMEOUT);
        let mut spec = gang.counted();
        spec.insert("scheduleTimeoutSeconds".to_owned(), json!(timeout));
        let name = draft.job_name();
        for member in &gang.members {
            replicated_job::pod_metadata_mut(draft.rjob_mut(member.index), "labels")
                .insert(LABEL.to_owned(), json!(name));
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
