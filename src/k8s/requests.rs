//! What one pod requests, as the scheduler counts it.
//!
//! Source of the rules: `PodRequests` of component-helpers, the defaults of the Pod API, the admission plugins
//! LimitRanger and RuntimeClass. A quantity that cannot be read counts nothing: no API server takes the pod.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::core::v1::{LimitRange, LimitRangeItem};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as Text;
use serde_json::{Value, json};

use super::json as k8s_json;
use super::quantity::Quantity;

/// Amounts by the name of their resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Amounts(BTreeMap<String, Quantity>);

impl Amounts {
    /// Reads amounts from a JSON object, or from nothing.
    pub fn from_json(amounts: Option<&Value>) -> Self {
        let amounts = amounts.and_then(Value::as_object).into_iter().flatten();
        Self(
            amounts
                .filter_map(|(name, amount)| Some((name.clone(), Quantity::from_json(amount).ok()?)))
                .collect(),
        )
    }

    /// Reads amounts as typed objects have them.
    pub fn from_texts<'a>(amounts: impl IntoIterator<Item = (&'a String, &'a Text)>) -> Self {
        let amounts = amounts.into_iter();
        Self(
            amounts
                .filter_map(|(name, amount)| Some((name.clone(), amount.0.parse().ok()?)))
                .collect(),
        )
    }

    /// Tells whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Looks an amount up.
    pub fn get(&self, resource: &str) -> Option<Quantity> {
        self.0.get(resource).copied()
    }

    /// Adds, name by name.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for (name, amount) in &other.0 {
            let sum = self.0.entry(name.clone()).or_insert(Quantity::ZERO);
            *sum = sum.plus(*amount);
        }
        self
    }

    /// Multiplies all.
    #[must_use]
    pub fn times(&self, count: i64) -> Self {
        Self(
            self.0
                .iter()
                .map(|(name, amount)| (name.clone(), amount.times(count)))
                .collect(),
        )
    }

    /// Keeps the larger one of each.
    fn at_least(mut self, other: &Self) -> Self {
        for (name, amount) in &other.0 {
            let most = self.0.entry(name.clone()).or_insert(*amount);
            *most = (*most).max(*amount);
        }
        self
    }

    /// Takes what is missing from others.
    fn or(mut self, others: &Self) -> Self {
        for (name, amount) in &others.0 {
            self.0.entry(name.clone()).or_insert(*amount);
        }
        self
    }

    /// Gives the amounts as Kubernetes writes them.
    pub fn to_json(&self) -> Value {
        self.0
            .iter()
            .map(|(name, amount)| (name.clone(), json!(amount.to_string())))
            .collect()
    }
}

impl fmt::Display for Amounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("nothing");
        }
        for (at, (name, amount)) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{name} {amount}")?;
        }
        Ok(())
    }
}

/// What a cluster adds to the requests that a Pod template states.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Requests of containers that make none.
    containers: Amounts,
    /// What a pod needs besides its containers, where its template does not say.
    overhead: Amounts,
}

impl Surroundings {
    /// Puts together what the LimitRanges of the namespace and the pod's RuntimeClass add. Of several LimitRanges with
    /// a default for one resource the first one counts.
    pub fn new<'a>(limit_ranges: impl IntoIterator<Item = &'a LimitRange>, overhead: Amounts) -> Self {
        let items = limit_ranges
            .into_iter()
            .filter_map(|range| range.spec.as_ref())
            .flat_map(|spec| &spec.limits);
        let containers = items
            .filter(|item| item.type_ == "Container")
            .fold(Amounts::default(), |found, item| {
                found.or(&default_requests(item))
            });
        Self { containers, overhead }
    }
}

/// Gives the requests that a LimitRange sets: what it says, else its default limits, else its bounds.
fn default_requests(item: &LimitRangeItem) -> Amounts {
    let amounts = |map: &Option<BTreeMap<String, Text>>| Amounts::from_texts(map.iter().flatten());
    amounts(&item.default_request)
        .or(&amounts(&item.default))
        .or(&amounts(&item.max))
        .or(&amounts(&item.min))
}

/// Gives the requests of one pod with this spec.
///
/// Containers and sidecars run together; before them each init container runs together with the sidecars that stand
/// before it; the larger of both counts, resource by resource. What is said for the pod as a whole goes before that.
/// What the runtime of the pod needs comes on top.
pub fn of_pod(spec: &Value, surroundings: &Surroundings) -> Amounts {
    let of = |container: &Value| of_container(container, surroundings);
    let mut running = k8s_json::list(spec, &["containers"])
        .iter()
        .fold(Amounts::default(), |sum, container| sum.plus(&of(container)));
    let (mut sidecars, mut starting) = (Amounts::default(), Amounts::default());
    for container in k8s_json::list(spec, &["initContainers"]) {
        let requests = of(container);
        let stays = k8s_json::text(container, &["restartPolicy"]) == Some("Always");
        if stays {
            sidecars = sidecars.plus(&requests);
            running = running.plus(&requests);
            starting = starting.at_least(&sidecars);
        } else {
            starting = starting.at_least(&sidecars.clone().plus(&requests));
        }
    }
    let containers = running.at_least(&starting);
    let whole = of_whole_pod(spec, &containers);
    let overhead = match spec.get("overhead") {
        Some(Value::Object(_)) => Amounts::from_json(spec.get("overhead")),
        _ => surroundings.overhead.clone(),
    };
    whole.or(&containers).plus(&overhead)
}

/// Gives the requests of a container: its limits count where it makes none, as in the API server, before those that a
/// LimitRange adds.
fn of_container(container: &Value, surroundings: &Surroundings) -> Amounts {
    let stated = |kind: &str| Amounts::from_json(k8s_json::at(container, &["resources", kind]));
    stated("requests")
        .or(&stated("limits"))
        .or(&surroundings.containers)
}

/// Gives what a pod requests as a whole. A limit counts where neither the pod nor any of its containers requests that
/// resource. Only some resources can be stated so.
fn of_whole_pod(spec: &Value, containers: &Amounts) -> Amounts {
    let stated = |kind: &str| Amounts::from_json(k8s_json::at(spec, &["resources", kind]));
    let mut limits = stated("limits");
    limits.0.retain(|name, _| containers.get(name).is_none());
    let mut whole = stated("requests").or(&limits);
    whole
        .0
        .retain(|name, _| name == "cpu" || name == "memory" || name.starts_with("hugepages-"));
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requests(spec: &Value) -> String {
        of_pod(spec, &Surroundings::default()).to_string()
    }

    fn limit_range(item: &Value) -> LimitRange {
        serde_json::from_value(json!({"spec": {"limits": [item]}})).unwrap()
    }

    #[test]
    fn containers_add_up_and_a_larger_init_step_counts_instead() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        assert_eq!(
            requests(&json!({"containers": [container("1"), container("500m")]})),
            "cpu 1500m"
        );
        let with_init =
            json!({"containers": [container("1")], "initContainers": [container("9"), container("2")]});
        assert_eq!(requests(&with_init), "cpu 9");
        assert_eq!(requests(&json!({"containers": [{}]})), "nothing");
    }

    #[test]
    fn a_sidecar_runs_beside_the_containers_and_the_init_steps_behind_it() {
        let container = |cpu: &str| json!({"resources": {"requests": {"cpu": cpu}}});
        let mut sidecar = container("2");
        sidecar["restartPolicy"] = json!("Always");
        let before = json!({"containers": [container("1")], "initContainers": [sidecar, container("4")]});
        assert_eq!(requests(&before), "cpu 6");
        let after = json!({"containers": [container("1")], "initContainers": [container("4"), sidecar]});
        assert_eq!(requests(&after), "cpu 4");
        let only = json!({"containers": [container("1")], "initContainers": [sidecar]});
        assert_eq!(requests(&only), "cpu 3");
    }

    #[test]
    fn limits_count_where_nothing_is_requested() {
        let pod = json!({"containers": [{"resources": {
            "requests": {"cpu": "1"}, "limits": {"cpu": "2", "nvidia.com/gpu": 8},
        }}]});
        assert_eq!(requests(&pod), "cpu 1, nvidia.com/gpu 8");
    }

    #[test]
    fn what_the_whole_pod_requests_goes_before_its_containers() {
        let containers = json!([{"resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "1"}}}]);
        let pod = json!({"containers": containers, "resources": {
            "requests": {"cpu": "4", "nvidia.com/gpu": "9"}, "limits": {"memory": "8Gi"},
        }});
        assert_eq!(requests(&pod), "cpu 4, memory 8Gi, nvidia.com/gpu 1");
        let limited = json!({"containers": containers, "resources": {"limits": {"cpu": "8"}}});
        assert_eq!(requests(&limited), "cpu 1, nvidia.com/gpu 1");
    }

    #[test]
    fn the_overhead_of_the_template_goes_before_that_of_the_runtime_class() {
        let class = Surroundings::new([], Amounts::from_json(Some(&json!({"cpu": "250m"}))));
        let mut pod = json!({"containers": [{"resources": {"requests": {"cpu": "1"}}}]});
        assert_eq!(of_pod(&pod, &class).to_string(), "cpu 1250m");
        pod["overhead"] = json!({"cpu": "100m"});
        assert_eq!(of_pod(&pod, &class).to_string(), "cpu 1100m");
    }

    #[test]
    fn a_limit_range_adds_what_a_container_says_nothing_of() {
        let range = limit_range(&json!({
            "type": "Container",
            "defaultRequest": {"cpu": "100m"}, "default": {"cpu": "4", "memory": "1Gi"}, "max": {"storage": "5Gi"},
        }));
        let pods = limit_range(&json!({"type": "Pod", "max": {"example.com/x": "1"}}));
        let around = Surroundings::new([&pods, &range], Amounts::default());
        let silent = json!({"containers": [{}]});
        assert_eq!(
            of_pod(&silent, &around).to_string(),
            "cpu 100m, memory 1Gi, storage 5Gi"
        );
        let limited = json!({"containers": [{"resources": {"limits": {"cpu": "2"}}}]});
        assert_eq!(
            of_pod(&limited, &around).get("cpu"),
            Some("2".parse().unwrap()),
            "its own limit comes first"
        );
    }
}
