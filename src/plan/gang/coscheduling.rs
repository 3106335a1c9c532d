//! The coscheduling plugin of scheduler-plugins: a PodGroup, and a label on its pods.

use serde_json::json;

use super::{Gang, GangObject, GangScheduler, Served};
use crate::api::names;
use crate::plan::draft::Draft;
use crate::plan::replicated_job;

/// Seconds that a gang waits for its last pod where the runtime does not say.
const DEFAULT_TIMEOUT: i32 = 60;

/// The coscheduling plugin.
pub(super) struct Coscheduling;

impl GangScheduler for Coscheduling {
    fn name(&self) -> &'static str {
        "coscheduling"
    }

    fn priority_classes(&self, _draft: &Draft<'_>) -> Vec<(String, String)> {
        Vec::new()
    }

    fn place(&self, draft: &mut Draft<'_>, gang: &Gang) -> Vec<GangObject> {
        let policy = draft.runtime.spec.pod_group_policy.as_ref();
        let timeout = policy.and_then(|policy| policy.coscheduling.as_ref()?.schedule_timeout_seconds);
        let timeout = timeout.filter(|seconds| *seconds != 0).unwrap_or(DEFAULT_TIMEOUT);
        let mut spec = gang.counted();
        spec.insert("scheduleTimeoutSeconds".to_owned(), json!(timeout));
        let name = draft.job_name();
        for member in &gang.members {
            if let Some(job) = draft.replicated_job_mut(member.index) {
                replicated_job::pod_metadata_mut(job, "labels")
                    .insert(names::COSCHEDULING_LABEL.to_owned(), json!(name));
            }
        }
        vec![GangObject::new(
            draft.job,
            names::COSCHEDULING_API_VERSION,
            names::POD_GROUP,
            spec,
            Served::Whole,
        )]
    }
}
