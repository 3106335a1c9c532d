//! The gang schedulers, one file each, and which of them a runtime asks for.
//!
//! A gang scheduler sees the finished pods. It marks the members and says what its scheduler must know of them; who is a
//! member, and what the members request together, is the same for all. It knows nothing of the other schedulers.

mod coscheduling;
mod volcano;
mod workload;

use super::gang::GangScheduler;
use crate::api::runtime::PodGroupPolicy;

/// Lists the gang schedulers that a policy sets; the rules of the runtime refuse more than one.
pub(super) fn all(policy: &PodGroupPolicy) -> impl Iterator<Item = &dyn GangScheduler> {
    // No `..`: a policy that is added to the API does not compile until it is listed here.
    let PodGroupPolicy {
        coscheduling,
        volcano,
        workload,
    } = policy;
    let all = [
        as_scheduler(coscheduling.as_ref()),
        as_scheduler(volcano.as_ref()),
        as_scheduler(workload.as_ref()),
    ];
    all.into_iter().flatten()
}

fn as_scheduler<S: GangScheduler>(policy: Option<&S>) -> Option<&dyn GangScheduler> {
    policy.map(|scheduler| scheduler as &dyn GangScheduler)
}

/// Finds the gang scheduler of a runtime; none also where several are set.
pub(super) fn of(policy: Option<&PodGroupPolicy>) -> Option<&dyn GangScheduler> {
    let mut all = all(policy?);
    all.next().filter(|_| all.next().is_none())
}
