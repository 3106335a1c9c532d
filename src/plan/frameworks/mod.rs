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
use super::counts;
use super::draft::{Draft, ReplicatedJob};
use crate::api::TrainJob;
use crate::api::runtime::MlPolicy;
use crate::k8s::problem::Problems;

/// What one framework does for a job.
///
/// What is said of `spec.trainer` and of nodes by default is right where the replicated jobs that are labelled as
/// trainer are all alike: they are the nodes, and they take the section.
pub(super) trait Framework: Sync {
    /// Name of the framework, as `explain` shows it.
    fn name(&self) -> &'static str;

    /// Environment variables that it sets and the job must not.
    fn reserved_env(&self, _draft: &Draft<'_>) -> &'static [&'static str] {
        &[]
    }

    /// Tells whether the job must not set a variable.
    fn reserves(&self, draft: &Draft<'_>, name: &str) -> bool {
        self.reserved_env(draft).contains(&name)
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

    /// Settles how many pods each replicated job has.
    fn settle_counts(&self, draft: &mut Draft<'_>) {
        counts::settle(draft);
    }

    /// Whether the pods of a replicated job take a part of `spec.trainer`.
    fn takes(&self, _draft: &Draft<'_>, rjob: &ReplicatedJob, _part: Part) -> bool {
        rjob.trains()
    }

    /// Whether the pods of a replicated job compute together: they are the gang, and their resources tell the number
    /// of processes.
    fn is_node(&self, _draft: &Draft<'_>, rjob: &ReplicatedJob) -> bool {
        rjob.trains()
    }

    /// Fewest pods of a replicated job that can work; a gang waits for no more.
    fn fewest(&self, _draft: &Draft<'_>, rjob: &ReplicatedJob) -> i64 {
        rjob.count
    }

    /// Finds what is wrong with a runtime, whatever the job.
    fn check_runtime(&self, _runtime: &Runtime, _found: &mut Problems) {}

    /// Finds what is wrong with the job for this framework alone.
    fn check(&self, _draft: &Draft<'_>, _problems: &mut Problems) {}

    /// Puts what the processes need into the pods. Image, command and arguments of the job are there already.
    fn inject(&self, draft: &mut Draft<'_>);
}

/// A part of `spec.trainer`, which the container `node` of a replicated job takes or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Image,
    /// Command and arguments.
    Command,
    Env,
    Resources,
}

/// Lists the frameworks that a policy sets, each with what runs it. The job matters where one policy stands for two.
fn chosen(job: Option<&TrainJob>, policy: &MlPolicy) -> Vec<(&'static str, &'static dyn Framework)> {
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
    let all: [(&str, bool, &'static dyn Framework); 8] = [
        ("torch", torch.is_some(), torch::of(job)),
        ("mpi", mpi.is_some(), &mpi::Mpi),
        ("jax", jax.is_some(), &jax::Jax),
        ("xgboost", xgboost.is_some(), &xgboost::Xgboost),
        ("flux", flux.is_some(), &flux::Flux),
        ("tensorflow", tensorflow.is_some(), &tensorflow::Tensorflow),
        ("paddle", paddle.is_some(), &paddle::Paddle),
        ("custom", custom.is_some(), &custom::Custom),
    ];
    all.into_iter()
        .filter_map(|(name, set, framework)| set.then_some((name, framework)))
        .collect()
}

/// Lists the names of the frameworks that a policy sets; more than one is wrong.
pub(super) fn names(policy: &MlPolicy) -> Vec<&'static str> {
    chosen(None, policy).into_iter().map(|(name, _)| name).collect()
}

/// The framework of a job. Where the runtime sets several, which its rules refuse, it is the first.
pub(super) fn of(job: Option<&TrainJob>, runtime: &Runtime) -> &'static dyn Framework {
    let policy = runtime.spec.ml_policy.as_ref();
    let first = policy.and_then(|policy| chosen(job, policy).first().map(|(_, framework)| *framework));
    first.unwrap_or(&plain::Plain)
}
