//! The pods of a job that are placed together: who is a member, what they request together, and what is wrong with that.
//!
//! Knows no gang scheduler: each of them marks the members and makes the objects that it reads.

mod members;
mod object;
mod priority_classes;
mod requests;
mod reservation;
mod scheduler;

use super::accelerators::{self, Devices};
use super::draft::{Draft, ReplicatedJob};
use super::framework::Framework;
use super::inputs::ClusterFacts;
use super::resolve::RUNTIME_REF;
use super::trace::Stage;
use crate::k8s::problem::{Problem, Problems};
use members::Members;

pub use object::{GangObject, Served};
pub(super) use priority_classes::of_pods as priority_classes_of_pods;
pub use reservation::{Gang, Member};
pub(super) use scheduler::GangScheduler;

/// A gang that can be placed.
pub(super) struct CheckedGang<'a> {
    scheduler: &'a dyn GangScheduler,
    /// Indexes of the members, each with the number of pods of each of its Jobs that the gang waits for.
    members: Vec<(usize, i64)>,
    /// Indexes of the other replicated jobs, each with the reason.
    left_out: Vec<(usize, String)>,
}

/// Finds the members, and what is wrong with the gang of a job.
pub(super) fn check<'a>(
    draft: &Draft<'_>,
    scheduler: &'a dyn GangScheduler,
    framework: &dyn Framework,
    facts: &ClusterFacts,
) -> Result<CheckedGang<'a>, Problems> {
    let mut problems = Problems::default();
    let Members {
        together,
        inside,
        outside,
    } = members::of(draft, framework);
    scheduler.check(draft, &inside, &mut problems);
    let classes = scheduler.priority_classes(&draft.specs());
    priority_classes::check(&classes, facts, &mut problems);
    if inside.is_empty() && !draft.rjobs.is_empty() {
        let names: Vec<&str> = draft.rjobs.iter().map(|rjob| rjob.name.as_str()).collect();
        let message = format!(
            "the runtime's podGroupPolicy.{} has no pods to place together: each of the replicated jobs {} starts only \
             after another one; take one of their dependsOn, or the startupPolicy, away",
            scheduler.name(),
            names.join(", ")
        );
        problems.push(Problem::invalid(RUNTIME_REF, message));
    }
    // A member that comes later than the others needs them to be still there.
    let awaited = |rjob: &ReplicatedJob| {
        if together {
            framework.fewest(draft, rjob)
        } else {
            rjob.count
        }
    };
    let members = inside.iter().map(|index| (*index, awaited(&draft.rjobs[*index])));
    problems.into_result(CheckedGang {
        scheduler,
        members: members.collect(),
        left_out: outside,
    })
}

impl CheckedGang<'_> {
    /// Marks the members, makes what the scheduler reads, and warns of what the author should know. Without pods there is
    /// no gang.
    pub(super) fn place(
        self,
        draft: &mut Draft<'_>,
        facts: &ClusterFacts,
    ) -> (Option<Gang>, Vec<GangObject>) {
        let gang = self.gather(draft, facts);
        let warnings = self.warnings(draft, &gang, facts);
        draft.warnings.extend(warnings);
        if gang.awaited() == 0 {
            return (None, Vec::new());
        }
        let stage = Stage::Gang {
            name: self.scheduler.name(),
        };
        let objects = draft.stage(&stage, |draft| self.scheduler.place(draft, &gang));
        (Some(gang), objects)
    }

    fn gather(&self, draft: &Draft<'_>, facts: &ClusterFacts) -> Gang {
        let members = self.members.iter().map(|(index, awaited)| {
            let rjob = &draft.rjobs[*index];
            Member {
                index: *index,
                name: rjob.name.clone(),
                pods: rjob.pods(),
                awaited: awaited * rjob.replicas,
                requests: requests::of(draft.spec(*index), facts),
            }
        });
        let left_out = self.left_out.iter();
        Gang {
            scheduler: self.scheduler.name(),
            members: members.filter(|member| member.pods > 0).collect(),
            left_out: left_out
                .map(|(index, why)| (draft.rjobs[*index].name.clone(), why.clone()))
                .collect(),
        }
    }

    fn warnings(&self, draft: &Draft<'_>, gang: &Gang, facts: &ClusterFacts) -> Vec<String> {
        let classes = self.scheduler.priority_classes(&draft.specs());
        let mut found = priority_classes::warnings(&classes, facts);
        for (index, why) in &self.left_out {
            if has_accelerators(draft, *index) {
                found.push(format!(
                    "the pods of replicated job {:?} ask for accelerators and are not part of the gang, as {why}: they \
                     are placed one by one, before or after it",
                    draft.rjobs[*index].name
                ));
            }
        }
        for member in &gang.members {
            if let Some(why) = self.scheduler.no_effect(draft.spec(member.index).scheduler()) {
                found.push(format!(
                    "the runtime's podGroupPolicy.{} has no effect on the pods of replicated job {:?}: {why}",
                    self.scheduler.name(),
                    member.name
                ));
            }
        }
        found
    }
}

fn has_accelerators(draft: &Draft<'_>, index: usize) -> bool {
    draft.spec(index).containers().iter().any(|container| {
        let devices = accelerators::devices(&container["resources"], draft.config);
        devices != Devices::None
    })
}
