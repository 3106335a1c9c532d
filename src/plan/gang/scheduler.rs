//! What one gang scheduler does for a job.
//!
//! Knows no scheduler; which one a runtime asks for is found by [`crate::plan::gang_schedulers`].

use super::object::GangObject;
use super::reservation::Gang;
use crate::k8s::problem::Problems;
use crate::plan::draft::Draft;
use crate::plan::replicated_job::ReplicatedJobSpec;

/// What one gang scheduler does for a job. Its policy is the scheduler: whoever holds one knows its settings.
pub(in crate::plan) trait GangScheduler {
    /// Name of the policy, as `explain` shows it.
    fn name(&self) -> &'static str;

    /// Lists the PriorityClasses that must exist, each with where it is named.
    fn priority_classes(&self, rjobs: &[ReplicatedJobSpec<'_>]) -> Vec<(String, String)>;

    /// Finds what is wrong with the job for this scheduler alone; `members` are indexes of replicated jobs.
    fn check(&self, _draft: &Draft<'_>, _members: &[usize], _problems: &mut Problems) {}

    /// Says what keeps the policy from having an effect on the pods of a replicated job, given the scheduler that they
    /// name, if any.
    fn no_effect(&self, _scheduler: Option<&str>) -> Option<&'static str> {
        None
    }

    /// Marks the members, and makes the objects that the scheduler reads.
    fn place(&self, draft: &mut Draft<'_>, gang: &Gang) -> Vec<GangObject>;
}
