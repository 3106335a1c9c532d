//! The nodes of frameworks whose nodes are all alike: the pods of the replicated job that trains.

use super::draft::{ContainerId, Draft, ReplicatedJob};
use super::resolve::RUNTIME_REF;
use crate::api::names;
use crate::k8s::problem::{Problem, Problems};

/// The nodes.
#[derive(Clone, Debug)]
pub(super) struct Nodes {
    /// Their replicated job.
    pub(super) rjob: ReplicatedJob,
    /// The container that trains.
    pub(super) container: ContainerId,
}

impl Nodes {
    /// Finds the nodes; none in a runtime without any replicated job, which runs nothing.
    ///
    /// Pods that no framework sets up would never find each other, so a runtime whose replicated jobs do not train is
    /// refused. One without the container that trains is refused without a problem of its own, as the rules of the runtime
    /// have found it.
    pub(super) fn find(draft: &Draft<'_>, policy: &str) -> Result<Option<Self>, Problems> {
        if draft.rjobs.is_empty() {
            return Ok(None);
        }
        let Some(rjob) = draft.trainer() else {
            let message = format!(
                "the runtime's mlPolicy.{policy} has no replicated job labelled {}={} to work on; label one",
                names::ANCESTOR_LABEL,
                names::TRAINER
            );
            return Err(Problem::invalid(RUNTIME_REF, message).into());
        };
        let container = draft
            .find(rjob.index, names::NODE)
            .ok_or_else(Problems::default)?;
        Ok(Some(Self {
            rjob: rjob.clone(),
            container,
        }))
    }

    /// Returns the DNS name of the first node.
    pub(super) fn first_host(&self, draft: &Draft<'_>) -> String {
        draft.host(&self.rjob, 0, 0)
    }
}
