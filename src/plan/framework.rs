//! What one framework does for a job.
//!
//! The policy of a runtime is the framework: whoever holds one knows its settings, so nobody looks for them again. Knows
//! no framework; which one a runtime asks for is found by [`super::frameworks`].

use super::counts;
use super::draft::{ContainerId, Draft, ReplicatedJob};
use super::injection::CheckedInjection;
use super::inputs::Runtime;
use crate::api::names;
use crate::k8s::problem::Problems;

/// What one framework does for a job.
///
/// The defaults are right where the replicated jobs that are labelled as trainer are all alike: they are the nodes, and
/// they take `spec.trainer`.
pub(super) trait Framework {
    /// Name of its policy in `mlPolicy`.
    fn name(&self) -> &'static str;

    /// Environment variables that it sets and the job must not.
    fn reserved_env(&self) -> &'static [&'static str] {
        &[]
    }

    /// Reports whether the job must not set a variable.
    fn reserves(&self, name: &str) -> bool {
        self.reserved_env().contains(&name)
    }

    /// Reports whether `numProcPerNode` means something to it.
    fn takes_processes(&self) -> bool {
        false
    }

    /// Reports whether its variables come after those of `spec.trainer.env`; the order matters to `$(NAME)` in values.
    fn follows_trainer_env(&self) -> bool {
        false
    }

    /// Settles how many pods each replicated job has.
    fn settle_counts(&self, draft: &mut Draft<'_>) {
        counts::settle(draft);
    }

    /// Reports whether the pods of a replicated job take a part of `spec.trainer`.
    fn takes(&self, _draft: &Draft<'_>, rjob: &ReplicatedJob, _part: Part) -> bool {
        rjob.trains()
    }

    /// Reports whether the pods of a replicated job compute together: they are the gang, and their resources decide the
    /// number of processes.
    fn is_node(&self, _draft: &Draft<'_>, rjob: &ReplicatedJob) -> bool {
        rjob.trains()
    }

    /// Fewest pods of a replicated job that can work; a gang waits for no more.
    fn fewest(&self, _draft: &Draft<'_>, rjob: &ReplicatedJob) -> i64 {
        rjob.count
    }

    /// Finds what is wrong with a runtime, whatever the job.
    fn check_runtime(&self, _runtime: &Runtime, _found: &mut Problems) {}

    /// Lists what an author of a runtime should know although it works.
    fn runtime_warnings(&self, _runtime: &Runtime) -> Vec<String> {
        Vec::new()
    }

    /// Works out what the processes need, or finds what is wrong with the job for this framework alone. Counts, resources,
    /// image, command and arguments of the job are in the draft.
    fn injection(&self, draft: &Draft<'_>) -> Result<CheckedInjection, Problems>;

    /// Returns the number of pods that Kubeflow Trainer v2.3 gives each Job of a replicated job: Kueue counts them by
    /// its code.
    fn upstream_pods(&self, draft: &Draft<'_>, rjob: &ReplicatedJob) -> i64 {
        let is_first = draft.trainer().is_some_and(|first| first.index == rjob.index);
        draft
            .job
            .num_nodes()
            .filter(|_| is_first)
            .unwrap_or_else(|| counts::of_runtime(draft, rjob))
    }

    /// Reports whether Kubeflow Trainer v2.3 puts `resourcesPerNode` into a replicated job.
    fn upstream_takes_resources(&self, rjob: &ReplicatedJob) -> bool {
        rjob.trains()
    }

    /// Says how a runtime is written so that Kueue counts as many pods as there are.
    fn kueue_advice(&self) -> String {
        format!(
            "label only the replicated job that spec.trainer.numNodes is for with {}={}, and give the others their \
             parallelism",
            names::ANCESTOR_LABEL,
            names::TRAINER
        )
    }

    /// Lists what keeps Kueue from admitting the job.
    fn kueue_warnings(&self, _draft: &Draft<'_>) -> Vec<String> {
        Vec::new()
    }
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

/// Lists the containers that take a part of `spec.trainer`: those named `node` in the replicated jobs that take it.
pub(super) fn takers(draft: &Draft<'_>, framework: &dyn Framework, part: Part) -> Vec<ContainerId> {
    let rjobs = draft.rjobs.iter();
    rjobs
        .filter(|rjob| framework.takes(draft, rjob, part))
        .filter_map(|rjob| draft.find(rjob.index, names::NODE))
        .collect()
}
