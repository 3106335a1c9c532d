//! The frameworks, one file each, and which of them a runtime asks for.
//!
//! A framework sees the draft after counts and resources are settled. It may check the job, and it puts what its
//! processes need into the pods. It knows nothing of the other frameworks.

mod plain;
mod torch;

use super::draft::Draft;
use super::problem::{Problem, Problems, Reason};
use super::resolve::RUNTIME_REF;
use crate::api::runtime::MlPolicy;

/// What one framework does for a job.
pub(super) trait Framework: Sync {
    /// Name of the framework, as `explain` shows it.
    fn name(&self) -> &'static str;

    /// Environment variables that it sets and the job must not.
    fn reserved_env(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether its processes need a training container to be put into.
    fn needs_trainer(&self) -> bool {
        true
    }

    /// Whether `numProcPerNode` means something to it.
    fn takes_processes(&self) -> bool {
        false
    }

    /// Whether its variables stand behind those of `spec.trainer.env`; the order matters to `$(NAME)` in values.
    fn follows_trainer_env(&self) -> bool {
        false
    }

    /// Finds what is wrong with the job for this framework alone.
    fn check(&self, _draft: &Draft<'_>, _problems: &mut Problems) {}

    /// Puts what the processes need into the pods.
    fn inject(&self, draft: &mut Draft<'_>);
}

/// The framework of a runtime without one.
pub(super) fn none() -> &'static dyn Framework {
    &plain::Plain
}

/// The framework of a runtime, or the policies that this release cannot run yet.
pub(super) fn of(policy: Option<&MlPolicy>) -> Result<&'static dyn Framework, Problems> {
    // No `..`: a policy that is added to the API does not compile until it is listed here.
    let default = MlPolicy::default();
    let MlPolicy {
        num_nodes: _,
        torch,
        mpi,
        jax,
        xgboost,
        flux,
    } = policy.unwrap_or(&default);
    let chosen: [(&str, bool, Option<&'static dyn Framework>); 5] = [
        ("torch", torch.is_some(), Some(&torch::Torch)),
        ("mpi", mpi.is_some(), None),
        ("jax", jax.is_some(), None),
        ("xgboost", xgboost.is_some(), None),
        ("flux", flux.is_some(), None),
    ];
    let set: Vec<_> = chosen.iter().filter(|(_, set, _)| *set).collect();
    let problem = match set.as_slice() {
        [] => return Ok(none()),
        [(_, _, Some(framework))] => return Ok(*framework),
        [(name, _, None)] => {
            let message = format!(
                "the runtime's mlPolicy.{name} is not supported yet by this release; use torch or no policy"
            );
            Problem::new(Reason::NotSupportedYet, RUNTIME_REF, message)
        }
        several => {
            let names = several
                .iter()
                .map(|(name, ..)| *name)
                .collect::<Vec<_>>()
                .join(", ");
            Problem::invalid(
                RUNTIME_REF,
                format!("the runtime's mlPolicy sets {names}; keep at most one of them"),
            )
        }
    };
    Err(problem.into())
}
