//! The gang schedulers, one file each, and which of them a runtime asks for.
//!
//! A gang scheduler sees the finished pods. It marks the members and says what its scheduler is to know of them; who is
//! a member, and what the members request together, is the same for all. It knows nothing of the other schedulers.

mod coscheduling;
mod members;
mod object;
mod sum;
mod volcano;
mod workload;

use std::collections::BTreeSet;

use super::accelerators::{self, Devices};
use super::draft::{Draft, ReplicatedJob};
use super::facts;
use super::framework::Framework;
use super::inputs::{Known, Observed};
use super::resolve::RUNTIME_REF;
use super::trace::Stage;
use crate::api::names;
use crate::api::runtime::PodGroupPolicy;
use crate::k8s::json as k8s_json;
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::requests;

pub use object::{GangObject, Served};
pub use sum::{Gang, Member};

/// What one gang scheduler does for a job.
pub(super) trait GangScheduler: Sync {
    /// Name of the policy, as `explain` shows it.
    fn name(&self) -> &'static str;

    /// Lists the PriorityClasses that must exist, each with where it is named.
    fn priority_classes(&self, draft: &Draft<'_>) -> Vec<(String, String)>;

    /// Finds what is wrong with the job for this scheduler alone.
    fn check(&self, _draft: &Draft<'_>, _members: &[usize], _problems: &mut Problems) {}

    /// Tells what keeps the policy from having an effect on the pods of a replicated job, given the scheduler that it
    /// names, if any.
    fn no_effect(&self, _scheduler: Option<&str>) -> Option<&'static str> {
        None
    }

    /// Marks the members, and makes the objects that the scheduler reads.
    fn place(&self, draft: &mut Draft<'_>, gang: &Gang) -> Vec<GangObject>;
}

/// Lists the gang schedulers that a policy sets.
fn chosen(policy: &PodGroupPolicy) -> Vec<(&'static str, &'static dyn GangScheduler)> {
    // No `..`: a policy that is added to the API does not compile until it is listed here.
    let PodGroupPolicy {
        coscheduling,
        volcano,
        workload,
    } = policy;
    let all: [(bool, &'static dyn GangScheduler); 3] = [
        (coscheduling.is_some(), &coscheduling::Coscheduling),
        (volcano.is_some(), &volcano::Volcano),
        (workload.is_some(), &workload::Workload),
    ];
    all.into_iter()
        .filter_map(|(set, scheduler)| set.then_some((scheduler.name(), scheduler)))
        .collect()
}

/// Lists the names of the gang schedulers that a policy sets; more than one is wrong.
pub(super) fn names(policy: &PodGroupPolicy) -> Vec<&'static str> {
    chosen(policy).into_iter().map(|(name, _)| name).collect()
}

/// Finds the gang scheduler of a job; none also where two are set, of which the rules of the runtime tell.
pub(super) fn of(policy: Option<&PodGroupPolicy>) -> Option<&'static dyn GangScheduler> {
    match chosen(policy?).as_slice() {
        [(_, scheduler)] => Some(*scheduler),
        _ => None,
    }
}

/// Finds what is wrong with the gang of a job.
pub(super) fn check(
    draft: &Draft<'_>,
    scheduler: &dyn GangScheduler,
    framework: &dyn Framework,
    observed: &Observed,
    problems: &mut Problems,
) {
    let members = members::of(draft, framework).inside;
    scheduler.check(draft, &members, problems);
    priority_classes_exist(draft, scheduler, observed, problems);
    if members.is_empty() && !draft.rjobs.is_empty() {
        let names: Vec<&str> = draft.rjobs.iter().map(|rjob| rjob.name.as_str()).collect();
        let message = format!(
            "the runtime's podGroupPolicy.{} has no pods to place together: each of the replicated jobs {} starts only \
             after another one; take one of their dependsOn, or the startupPolicy, away",
            scheduler.name(),
            names.join(", ")
        );
        problems.push(Problem::invalid(RUNTIME_REF, message));
    }
}

fn priority_classes_exist(
    draft: &Draft<'_>,
    scheduler: &dyn GangScheduler,
    observed: &Observed,
    problems: &mut Problems,
) {
    let mut told = BTreeSet::new();
    for (class, place) in scheduler.priority_classes(draft) {
        let exists = names::SYSTEM_PRIORITY_CLASSES.contains(&class.as_str())
            || observed.priority_classes.contains_key(&class);
        if !exists && told.insert(class.clone()) {
            let message = format!(
                "PriorityClass {class:?}, which {place} names, does not exist; create it, or name one that exists"
            );
            problems.push(Problem::invalid(RUNTIME_REF, message));
        }
    }
}

/// Marks the members, makes what the scheduler reads, and warns of what the author should know. Without pods there is
/// no gang.
pub(super) fn place(
    draft: &mut Draft<'_>,
    scheduler: &'static dyn GangScheduler,
    framework: &dyn Framework,
    observed: &Observed,
) -> Option<(Gang, Vec<GangObject>)> {
    let gang = gather(draft, scheduler, framework, observed);
    warn(draft, scheduler, &gang, observed);
    if gang.awaited() == 0 {
        return None;
    }
    let stage = Stage::Gang {
        name: scheduler.name(),
    };
    let objects = draft.stage(&stage, |draft| scheduler.place(draft, &gang));
    Some((gang, objects))
}

fn gather(
    draft: &Draft<'_>,
    scheduler: &'static dyn GangScheduler,
    framework: &dyn Framework,
    observed: &Observed,
) -> Gang {
    let found = members::of(draft, framework);
    // A member that comes later than the others needs them to be still there.
    let awaited = |rjob: &ReplicatedJob| {
        if found.together {
            framework.fewest(draft, rjob)
        } else {
            rjob.count
        }
    };
    let member = |index: &usize| {
        let rjob = draft.rjobs.get(*index)?;
        let pod = draft.spec(*index).pod();
        Some(Member {
            index: *index,
            name: rjob.name.clone(),
            pods: rjob.count * rjob.replicas,
            awaited: awaited(rjob) * rjob.replicas,
            requests: requests::of_pod(pod, &facts::surroundings(observed, pod)),
        })
    };
    Gang {
        scheduler: scheduler.name(),
        members: found
            .inside
            .iter()
            .filter_map(member)
            .filter(|member| member.pods > 0)
            .collect(),
        left_out: found
            .outside
            .iter()
            .filter_map(|(index, why)| Some((draft.rjobs.get(*index)?.name.clone(), why.clone())))
            .collect(),
    }
}

fn warn(draft: &mut Draft<'_>, scheduler: &dyn GangScheduler, gang: &Gang, observed: &Observed) {
    let mut warnings = Vec::new();
    for (class, _) in scheduler.priority_classes(draft) {
        if let Some(Known::Unknown(why)) = observed.priority_classes.get(&class) {
            warnings.push(format!(
                "whether PriorityClass {class:?} exists could not be looked up: {why}"
            ));
        }
    }
    for (name, why) in &gang.left_out {
        if draft
            .rjob(name)
            .is_some_and(|rjob| has_accelerators(draft, rjob.index))
        {
            warnings.push(format!(
                "the pods of replicated job {name:?} ask for accelerators and are not part of the gang, as {why}: they \
                 are placed one by one, before or after it"
            ));
        }
    }
    for member in &gang.members {
        let named = k8s_json::text(draft.spec(member.index).pod(), &["schedulerName"]);
        if let Some(why) = scheduler.no_effect(named.filter(|name| !name.is_empty())) {
            warnings.push(format!(
                "the runtime's podGroupPolicy.{} has no effect on the pods of replicated job {:?}: {why}",
                scheduler.name(),
                member.name
            ));
        }
    }
    draft.warnings.extend(warnings);
}

fn has_accelerators(draft: &Draft<'_>, index: usize) -> bool {
    draft.spec(index).containers().iter().any(|container| {
        let resources = container.get("resources").unwrap_or(&serde_json::Value::Null);
        accelerators::devices(resources, draft.config) != Devices::None
    })
}
