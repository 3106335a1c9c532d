//! The frameworks, one file each, and which of them a runtime asks for.
//!
//! A framework sees the draft after counts and resources are settled. It may check the job, and it puts what its
//! processes need into the pods. It knows nothing of the other frameworks.

mod custom;
mod flux;
mod jax;
mod mpi;
mod paddle;
mod plain;
mod tensorflow;
mod torch;
mod xgboost;

use super::Runtime;
use super::framework::Framework;
use crate::api::runtime::MlPolicy;

/// Lists the frameworks that a policy sets; the rules of the runtime refuse more than one.
pub(super) fn all(policy: &MlPolicy) -> impl Iterator<Item = &dyn Framework> {
    // No `..`: a policy that is added to the API does not compile until it is listed here.
    let MlPolicy {
        num_nodes: _,
        torch,
        mpi,
        jax,
        xgboost,
        flux,
        tensorflow,
        paddle,
        custom,
    } = policy;
    let all = [
        as_framework(torch.as_ref()),
        as_framework(mpi.as_ref()),
        as_framework(jax.as_ref()),
        as_framework(xgboost.as_ref()),
        as_framework(flux.as_ref()),
        as_framework(tensorflow.as_ref()),
        as_framework(paddle.as_ref()),
        as_framework(custom.as_ref()),
    ];
    all.into_iter().flatten()
}

fn as_framework<F: Framework>(policy: Option<&F>) -> Option<&dyn Framework> {
    policy.map(|framework| framework as &dyn Framework)
}

/// Finds the framework of a runtime: the first where several are set.
pub(super) fn of(runtime: &Runtime) -> &dyn Framework {
    match &runtime.spec.ml_policy {
        Some(policy) => all(policy).next().unwrap_or(&plain::Plain),
        None => &plain::NoPolicy,
    }
}
