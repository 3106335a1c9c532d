//! Kubernetes' own gang scheduling: a Workload that tells what the gang is like, a PodGroup that is the gang, and
//! the name of that in the spec of its pods.
//!
//! Source of the rules: `scheduling.k8s.io/v1beta1`. All but `minCount` is settled when the objects are made, and the
//! pods' `schedulingGroup` when the JobSet is.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::{Gang, GangObject, GangScheduler, Served};
use crate::api::names;
use crate::api::runtime::WorkloadPolicy;
use crate::k8s::json as k8s_json;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::draft::Draft;
use crate::plan::resolve::RUNTIME_REF;

/// Name of the one template of the Workload.
const TEMPLATE: &str = "gang";
/// The kinds, and some of their fields, are behind feature gates.
const SERVED: Served = Served::Gated {
    needs: "Kubernetes 1.37 with the feature gate GenericWorkload and runtime-config scheduling.k8s.io/v1beta1=true",
};

/// Kubernetes' own gang scheduling.
pub(super) struct Workload;

impl GangScheduler for Workload {
    fn name(&self) -> &'static str {
        "workload"
    }

    fn priority_classes(&self, draft: &Draft<'_>) -> Vec<(String, String)> {
        let own = policy(draft).and_then(|policy| policy.priority_class_name.clone());
        let own = own.map(|class| (class, "podGroupPolicy.workload.priorityClassName".to_owned()));
        let mut classes = draft.priority_classes(0..draft.rjobs.len());
        classes.extend(own);
        classes
    }

    fn check(&self, draft: &Draft<'_>, members: &[usize], problems: &mut Problems) {
        one_priority(draft, members, problems);
        one_scheduler(draft, members, problems);
    }

    fn no_effect(&self, scheduler: Option<&str>) -> Option<&'static str> {
        let other = scheduler.is_some_and(|name| name != names::DEFAULT_SCHEDULER);
        other.then_some(
            "they name another scheduler, which may not know of it; remove schedulerName from the runtime",
        )
    }

    fn place(&self, draft: &mut Draft<'_>, gang: &Gang) -> Vec<GangObject> {
        let terms = terms(draft, gang);
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
        let class = policy(draft).and_then(|policy| policy.priority_class_name.clone());
        for member in &gang.members {
            let Some(pod) = draft.pod_spec_mut(member.index) else {
                continue;
            };
            pod.insert("schedulingGroup".to_owned(), json!({"podGroupName": name}));
            if let Some(class) = &class {
                pod.insert("priorityClassName".to_owned(), json!(class));
            }
        }
        let object =
            |(kind, spec)| GangObject::new(draft.job, names::SCHEDULING_API_VERSION, kind, spec, SERVED);
        [(names::WORKLOAD, workload), (names::POD_GROUP, group)]
            .map(object)
            .into()
    }
}

fn policy<'d>(draft: &Draft<'d>) -> Option<&'d WorkloadPolicy> {
    draft.runtime.spec.pod_group_policy.as_ref()?.workload.as_ref()
}

/// The scheduler takes only gangs whose pods all have the priority of their PodGroup.
fn one_priority(draft: &Draft<'_>, members: &[usize], problems: &mut Problems) {
    let own = policy(draft).and_then(|policy| policy.priority_class_name.as_deref());
    let mut wanted = own.map(|class| {
        (
            class.to_owned(),
            "podGroupPolicy.workload.priorityClassName".to_owned(),
        )
    });
    for index in members {
        let named = draft.priority_classes([*index]).pop();
        let (class, place) = match (named, own, draft.rjobs.get(*index)) {
            (Some(named), _, _) => named,
            // It gets that of the policy.
            (None, Some(_), _) | (None, None, None) => continue,
            (None, None, Some(rjob)) => (String::new(), format!("replicated job {:?}", rjob.name)),
        };
        let (first, first_place) = wanted.get_or_insert((class.clone(), place.clone()));
        if class != *first {
            let shown = |class: &str| {
                if class.is_empty() {
                    "none".to_owned()
                } else {
                    format!("{class:?}")
                }
            };
            let message = format!(
                "all pods of a gang of podGroupPolicy.workload need one PriorityClass, but {first_place} names {} and \
                 {place} names {}; name one for all",
                shown(first),
                shown(&class)
            );
            problems.push(Problem::invalid(RUNTIME_REF, message));
            return;
        }
    }
    if let Some((class, place)) =
        wanted.filter(|(class, _)| names::SYSTEM_PRIORITY_CLASSES.contains(&class.as_str()))
    {
        let message = format!(
            "a gang of podGroupPolicy.workload cannot have the PriorityClass {class:?}, which {place} names: Kubernetes \
             keeps it for single pods; name another one"
        );
        problems.push(Problem::invalid(RUNTIME_REF, message));
    }
}

/// The scheduler takes only gangs whose pods all name one scheduler.
fn one_scheduler(draft: &Draft<'_>, members: &[usize], problems: &mut Problems) {
    let scheduler = |index: usize| {
        let name = k8s_json::text(draft.spec(index).pod(), &["schedulerName"]);
        name.filter(|name| !name.is_empty())
            .unwrap_or(names::DEFAULT_SCHEDULER)
    };
    let found: BTreeSet<&str> = members.iter().map(|index| scheduler(*index)).collect();
    if found.len() > 1 {
        let found = found.into_iter().collect::<Vec<_>>().join(", ");
        let message = format!(
            "all pods of a gang of podGroupPolicy.workload need one schedulerName, but the runtime names {found}; keep \
             one of them"
        );
        problems.push(Problem::invalid(RUNTIME_REF, message));
    }
}

/// Gives what Workload and PodGroup both say of the gang.
fn terms(draft: &Draft<'_>, gang: &Gang) -> Map<String, Value> {
    let policy = policy(draft);
    let mut terms = Map::new();
    let all_or_nothing = json!({"gang": {"minCount": gang.awaited()}});
    terms.insert("schedulingPolicy".to_owned(), all_or_nothing);
    if let Some(key) = policy.and_then(|policy| policy.topology_key.as_ref()) {
        terms.insert(
            "schedulingConstraints".to_owned(),
            json!({"topology": [{"key": key}]}),
        );
    }
    let mode = policy.and_then(|policy| policy.disruption_mode.as_deref());
    let mode = if mode == Some("Single") { "single" } else { "all" };
    terms.insert("disruptionMode".to_owned(), json!({mode: {}}));
    let members = gang.members.iter().map(|member| member.index);
    let of_pods = draft.priority_classes(members).pop().map(|(class, _)| class);
    let own = policy.and_then(|policy| policy.priority_class_name.clone());
    if let Some(class) = own.or(of_pods) {
        terms.insert("priorityClassName".to_owned(), json!(class));
    }
    terms
}
