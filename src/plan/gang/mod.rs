//! The gang schedulers, and which of them a runtime asks for.

use super::problem::{Problem, Reason};
use super::resolve::RUNTIME_REF;
use crate::api::runtime::PodGroupPolicy;

/// Finds the policy that this release cannot run yet; two at once are told of by the rules of the runtime.
pub(super) fn check(policy: Option<&PodGroupPolicy>) -> Option<Problem> {
    // No `..`: a policy that is added to the API does not compile until it is listed here.
    let PodGroupPolicy {
        coscheduling,
        volcano,
    } = policy?;
    let name = match (coscheduling, volcano) {
        (Some(_), _) => "coscheduling",
        (None, Some(_)) => "volcano",
        (None, None) => return None,
    };
    let message = format!(
        "the runtime's podGroupPolicy.{name} is not supported yet by this release; remove the policy to schedule \
         the pods one by one"
    );
    Some(Problem::new(Reason::NotSupportedYet, RUNTIME_REF, message))
}
