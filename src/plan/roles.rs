//! Which role each replicated job has, in frameworks that go by names: by the policy, else by its own name, else by its
//! label.
//!
//! Knows no framework: each of them brings its names.

use super::draft::{Draft, ReplicatedJob};
use super::inputs::Runtime;
use super::node_groups::{self, NodeGroup};
use super::replicated_job::ReplicatedJobSpec;
use super::{counts, named_jobs};
use crate::k8s::path::FieldPath;
use crate::k8s::problem::Problems;

/// The roles of one framework.
pub(super) struct Roles<'r> {
    /// Name of the framework's policy.
    pub(super) policy: &'static str,
    /// Names of replicated jobs that stand for a role.
    pub(super) names: &'static [(&'static str, &'static str)],
    /// Role of a replicated job that trains and has no such name.
    pub(super) trainer: &'static str,
    /// Replicated jobs and their roles by the policy.
    pub(super) given: Vec<(&'r str, &'r str)>,
}

impl<'r> Roles<'r> {
    /// Finds the role of a replicated job of the draft.
    pub(super) fn of(&self, rjob: &ReplicatedJob) -> Option<&'r str> {
        self.find(&rjob.name, rjob.trains())
    }

    /// Finds the role of a replicated job of the runtime.
    pub(super) fn of_spec(&self, rjob: ReplicatedJobSpec<'_>) -> Option<&'r str> {
        self.find(rjob.name(), rjob.trains())
    }

    fn find(&self, name: &str, trains: bool) -> Option<&'r str> {
        let by_name = self.given.iter().chain(self.names);
        let mut by_name = by_name.filter(|(rjob, _)| *rjob == name);
        by_name
            .next()
            .map(|(_, role)| *role)
            .or_else(|| trains.then_some(self.trainer))
    }

    /// Lists the replicated jobs that have a role.
    pub(super) fn groups(&self, draft: &Draft<'_>, problems: &mut Problems) -> Vec<NodeGroup> {
        node_groups::find(
            draft,
            self.policy,
            |rjob| self.of(rjob).map(str::to_owned),
            |_| None,
            problems,
        )
    }

    /// Settles the counts: the nodes of a job are the pods of the replicated job that trains, else of the first one in the
    /// role of a trainer.
    pub(super) fn settle_counts(&self, draft: &mut Draft<'_>) {
        let trainers = draft.rjobs.iter();
        let nodes = trainers
            .filter(|rjob| self.of(rjob) == Some(self.trainer))
            .min_by_key(|rjob| (!rjob.trains(), rjob.index))
            .map(|rjob| rjob.index);
        counts::settle_nodes(draft, nodes);
    }

    /// Returns the path of the policy's roles in a runtime.
    pub(super) fn field(&self) -> FieldPath {
        FieldPath::new("spec.mlPolicy").field(self.policy).field("roles")
    }

    /// Refuses roles of replicated jobs that a runtime does not have, and replicated jobs without a program for their role.
    pub(super) fn check_runtime(&self, runtime: &Runtime, found: &mut Problems) {
        let given = self.given.iter().map(|(rjob, _)| *rjob);
        named_jobs::check(runtime, given, &self.field(), "replicatedJob", found);
        named_jobs::check_programs(runtime, |rjob| self.of_spec(rjob).is_some(), found);
    }
}
