//! Kubernetes' own gang scheduling: a Workload that says what the gang is like, a PodGroup that is the gang, and
//! the name of that in the spec of its pods.
//!
//! Source of the rules: `scheduling.k8s.io/v1beta1`. All but `minCount` is settled when the objects are made, and the
//! pods' `schedulingGroup` when the JobSet is.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::api::names;
use crate::api::runtime::WorkloadPolicy;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::draft::Draft;
use crate::plan::gang::{self, Gang, GangObject, GangScheduler, Served};
use crate::plan::replicated_job::ReplicatedJobSpec;
use crate::plan::resolve::RUNTIME_REF;

/// `apiVersion` of both kinds.
const API_VERSION: &str = "scheduling.k8s.io/v1beta1";
/// Kind that says what the PodGroups of a job are like.
const WORKLOAD: &str = "Workload";
/// Name of the one template of the Workload.
const TEMPLATE: &str = "gang";
/// The kinds, and some of their fields, are behind feature gates.
const SERVED: Served = Served::Gated {
    needs: "Kubernetes 1.37 with the feature gate GenericWorkload and runtime-config scheduling.k8s.io/v1beta1=true",
};

/// Where the policy names a PriorityClass, as messages say it.
const OWN_CLASS: &str = "podGroupPolicy.workload.priorityClassName";

impl GangScheduler for WorkloadPolicy {
    fn name(&self) -> &'static str {
        "workload"
    }

    fn priority_classes(&self, rjobs: &[ReplicatedJobSpec<'_>]) -> Vec<(String, String)> {
        let own = self.priority_class_name.clone();
        let mut classes = gang::priority_classes_of_pods(rjobs);
        classes.extend(own.map(|class| (class, OWN_CLASS.to_owned())));
        classes
    }

    fn check(&self, draft: &Draft<'_>, members: &[usize], problems: &mut Problems) {
        one_priority(self, draft, members, problems);
        one_scheduler(draft, members, problems);
    }

    fn no_effect(&self, scheduler: Option<&str>) -> Option<&'static str> {
        let other = scheduler.is_some_and(|name| name != names::DEFAULT_SCHEDULER);
        other.then_some(
            "they name another scheduler, which may not know of it; remove schedulerName from the runtime",
        )
    }

    fn place(&self, draft: &mut Draft<'_>, gang: &Gang) -> Vec<GangObject> {
        let terms = terms(self, draft, gang);
        let name = draft.job_name();
        let mut template = Map::from_iter([("name".to_owned(), json!(TEMPLATE))]);
        template.extend(terms.clone());
        let controller = json!({"apiGroup": names::GROUP, "kind": names::TRAIN_JOB, "name": name});
        let workload = Map::from_iter([
            ("controllerRef".to_owned(), controller),
            ("podGroupTemplates".to_owned(), json!([template])),
        ]);
        let reference = json!({"workloadName": name, "templateName": TEMPLATE});
        let mut group = Map::from_iter([("workloadRef".to_owned(), reference)]);
        group.extend(terms);
        for member in &gang.members {
            let pod = draft.pod_mut(member.index);
            pod.insert("schedulingGroup".to_owned(), json!({"podGroupName": name}));
            if let Some(class) = &self.priority_class_name {
                pod.insert("priorityClassName".to_owned(), json!(class));
            }
        }
        let object = |(kind, spec)| GangObject::new(draft.job, API_VERSION, kind, spec, SERVED);
        [(WORKLOAD, workload), (names::POD_GROUP, group)]
            .map(object)
            .into()
    }
}

/// The scheduler takes only gangs whose pods all have the priority of their PodGroup.
fn one_priority(policy: &WorkloadPolicy, draft: &Draft<'_>, members: &[usize], problems: &mut Problems) {
    let own = policy.priority_class_name.as_deref();
    // A pod that names none gets that of the policy.
    let named = members.iter().filter_map(|index| {
        let rjob = draft.spec(*index);
        let class = rjob.priority_class().or(own.is_none().then_some(""))?;
        Some((class, format!("replicated job {:?}", rjob.name())))
    });
    let mut all = own
        .map(|class| (class, OWN_CLASS.to_owned()))
        .into_iter()
        .chain(named);
    let Some((class, place)) = all.next() else {
        return;
    };
    if let Some((other, other_place)) = all.find(|(other, _)| *other != class) {
        let message = format!(
            "all pods of a gang of podGroupPolicy.workload need one PriorityClass, but {place} names {} and {other_place} \
             names {}; name one for all",
            shown(class),
            shown(other)
        );
        problems.push(Problem::invalid(RUNTIME_REF, message));
    } else if names::SYSTEM_PRIORITY_CLASSES.contains(&class) {
        let message = format!(
            "a gang of podGroupPolicy.workload cannot have the PriorityClass {class:?}, which {place} names: Kubernetes \
             keeps it for single pods; name another one"
        );
        problems.push(Problem::invalid(RUNTIME_REF, message));
    }
}

fn shown(class: &str) -> String {
    if class.is_empty() {
        "none".to_owned()
    } else {
        format!("{class:?}")
    }
}

/// The scheduler takes only gangs whose pods all name one scheduler.
fn one_scheduler(draft: &Draft<'_>, members: &[usize], problems: &mut Problems) {
    let scheduler = |index: &usize| draft.spec(*index).scheduler();
    let found: BTreeSet<&str> = members
        .iter()
        .map(|index| scheduler(index).unwrap_or(names::DEFAULT_SCHEDULER))
        .collect();
    if found.len() > 1 {
        let found = found.into_iter().collect::<Vec<_>>().join(", ");
        let message = format!(
            "all pods of a gang of podGroupPolicy.workload need one schedulerName, but the runtime names {found}; keep \
             one of them"
        );
        problems.push(Problem::invalid(RUNTIME_REF, message));
    }
}

/// Makes what Workload and PodGroup both say of the gang.
fn terms(policy: &WorkloadPolicy, draft: &Draft<'_>, gang: &Gang) -> Map<String, Value> {
    let mut terms = Map::new();
    let all_or_nothing = json!({"gang": {"minCount": gang.awaited()}});
    terms.insert("schedulingPolicy".to_owned(), all_or_nothing);
    if let Some(key) = &policy.topology_key {
        let constraints = json!({"topology": [{"key": key}]});
        terms.insert("schedulingConstraints".to_owned(), constraints);
    }
    let single = policy.disruption_mode.as_deref() == Some("Single");
    let mode = if single { "single" } else { "all" };
    terms.insert("disruptionMode".to_owned(), json!({mode: {}}));
    let members = gang.members.iter().map(|member| draft.spec(member.index));
    let of_pods = members.rev().find_map(ReplicatedJobSpec::priority_class);
    if let Some(class) = policy.priority_class_name.as_deref().or(of_pods) {
        terms.insert("priorityClassName".to_owned(), json!(class));
    }
    terms
}
