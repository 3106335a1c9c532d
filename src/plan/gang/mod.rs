//! The gang schedulers, and which of them a runtime asks for.

use super::problem::{Problem, Reason};
use super::resolve::RUNTIME_REF;
use crate::api::runtime::PodGroupPolicy;

/// Lists the names of the gang schedulers that a policy sets; more than one is wrong.
pub(super) fn names(policy: &PodGroupPolicy) -> Vec<&'static str> {
    // No `..`: a policy that is added to the API does not compile until it is listed here.
    let PodGroupPolicy {
        coscheduling,
        volcano,
        workload,
    } = policy;
    [
        ("coscheduling", coscheduling.is_some()),
        ("volcano", volcano.is_some()),
        ("workload", workload.is_some()),
    ]
    .into_iter()
    .filter_map(|(name, set)| set.then_some(name))
    .collect()
}

/// Finds the policy that this release cannot run yet; two at once are told of by the rules of the runtime.
pub(super) fn check(policy: Option<&PodGroupPolicy>) -> Option<Problem> {
    let name = *names(policy?).first()?;
    let message = format!(
        "the runtime's podGroupPolicy.{name} is not supported yet by this release; remove the policy to schedule \
         the pods one by one"
    );
    Some(Problem::new(Reason::NotSupportedYet, RUNTIME_REF, message))
}
