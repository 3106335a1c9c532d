//! What one pod of a gang requests, with what the cluster adds: defaults of LimitRanges, and the overhead of its
//! RuntimeClass.

use k8s_openapi::api::node::v1::RuntimeClass;

use crate::k8s::requests::{self, Amounts, Surroundings};
use crate::plan::inputs::ClusterFacts;
use crate::plan::replicated_job::ReplicatedJobSpec;

/// Works out what one pod of a replicated job requests.
pub(super) fn of(rjob: ReplicatedJobSpec<'_>, facts: &ClusterFacts) -> Amounts {
    let class = rjob.runtime_class().and_then(|name| {
        let is_named = |class: &&RuntimeClass| class.metadata.name.as_deref() == Some(name);
        facts.runtime_classes.iter().find(is_named)
    });
    let fixed = class.and_then(|class| class.overhead.as_ref()?.pod_fixed.as_ref());
    let overhead = Amounts::from_texts(fixed.into_iter().flatten());
    requests::of_pod(rjob.pod(), &Surroundings::new(&facts.limit_ranges, overhead))
}
