//! What one Pod requests, as the scheduler counts it.
//!
//! Source of the rules: `PodRequests` of component-helpers, the defaults of the Pod API, the admission plugins
//! LimitRanger and RuntimeClass. A quantity that cannot be parsed counts as zero: no API server accepts the Pod.

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
    /// Parses the amounts of a JSON object; empty if there is none.
    pub fn from_json(amounts: Option<&Value>) -> Self {
        let amounts = amounts.and_then(Value::as_object).into_iter().flatten();
        Self(
            amounts
                .filter_map(|(name, amount)| Some((name.clone(), Quantity::from_json(amount).ok()?)))
                .collect(),
        )
    }

    /// Parses the amounts of a typed object.
    pub fn from_texts<'a>(amounts: impl IntoIterator<Item = (&'a String, &'a Text)>) -> Self {
        let amounts = amounts.into_iter();
        Self(
            amounts
                .filter_map(|(name, amount)| Some((name.clone(), amount.0.parse().ok()?)))
                .collect(),
        )
    }

    /// Reports whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the amount of a resource.
    pub fn get(&self, resource: &str) -> Option<Quantity> {
        self.0.get(resource).copied()
    }

    /// Returns the sums, resource by resource.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        for (name, amount) in &other.0 {
            let sum = self.0.entry(name.clone()).or_insert(Quantity::ZERO);
            *sum = sum.plus(*amount);
        }
        self
    }

    /// Returns the products, resource by resource.
    #[must_use]
    pub fn times(&self, count: i64) -> Self {
        Self(
            self.0
                .iter()
                .map(|(name, amount)| (name.clone(), amount.times(count)))
                .collect(),
        )
    }

    /// Returns the larger amounts, resource by resource.
    fn at_least(mut self, other: &Self) -> Self {
        for (name, amount) in &other.0 {
            let most = self.0.entry(name.clone()).or_insert(*amount);
            *most = (*most).max(*amount);
        }
        self
    }

    /// Returns the amounts, with those of `others` for resources that are missing.
    fn or(mut self, others: &Self) -> Self {
        for (name, amount) in &others.0 {
            self.0.entry(name.clone()).or_insert(*amount);
        }
        self
    }

    /// Returns the amounts as Kubernetes writes them.
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

/// What a cluster adds to the requests of a Pod template.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Requests of containers without requests and limits.
    containers: Amounts,
    /// What a Pod needs besides its containers, if its template has no overhead.
    overhead: Amounts,
}

impl Surroundings {
    /// Combines the LimitRanges of the namespace with the overhead of the Pod's RuntimeClass. If several LimitRanges
    /// have a default for one resource, the first one counts.
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

/// Returns the requests that a LimitRange sets: its default requests, else its default limits, else its bounds.
fn default_requests(item: &LimitRangeItem) -> Amounts {
    let amounts = |map: &Option<BTreeMap<String, Text>>| Amounts::from_texts(map.iter().flatten());
    amounts(&item.default_request)
        .or(&amounts(&item.default))
        .or(&amounts(&item.max))
        .or(&amounts(&item.min))
}

/// Returns the requests of one Pod with this spec.
///
/// Containers and sidecars run together. Before them each init container runs together with the sidecars that precede
/// it. The larger of both counts, resource by resource. Requests of the Pod as a whole take precedence over that, and
/// the overhead is added.
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

/// Returns the requests of a container. As in the API server, its limits count for resources without a request, and
/// take precedence over a LimitRange.
fn of_container(container: &Value, surroundings: &Surroundings) -> Amounts {
    let stated = |kind: &str| Amounts::from_json(k8s_json::at(container, &["resources", kind]));
    stated("requests")
        .or(&stated("limits"))
        .or(&surroundings.containers)
}

/// Returns what a Pod requests as a whole. A limit counts if neither the Pod nor any of its containers requests that
/// resource. Only CPU, memory and huge pages can be requested so.
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
    fn containers_add_up_and_a_larger_init_container_counts_instead() {
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
    fn a_sidecar_runs_beside_the_containers_and_later_init_containers() {
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
    fn limits_count_for_resources_without_a_request() {
        let pod = json!({"containers": [{"resources": {
            "requests": {"cpu": "1"}, "limits": {"cpu": "2", "nvidia.com/gpu": 8},
        }}]});
        assert_eq!(requests(&pod), "cpu 1, nvidia.com/gpu 8");
    }

    #[test]
    fn requests_of_the_whole_pod_take_precedence_over_its_containers() {
        let containers = json!([{"resources": {"requests": {"cpu": "1", "nvidia.com/gpu": "1"}}}]);
        let pod = json!({"containers": containers, "resources": {
            "requests": {"cpu": "4", "nvidia.com/gpu": "9"}, "limits": {"memory": "8Gi"},
        }});
        assert_eq!(requests(&pod), "cpu 4, memory 8Gi, nvidia.com/gpu 1");
        let limited = json!({"containers": containers, "resources": {"limits": {"cpu": "8"}}});
        assert_eq!(requests(&limited), "cpu 1, nvidia.com/gpu 1");
    }

    #[test]
    fn the_overhead_of_the_template_takes_precedence_over_the_runtime_class() {
        let class = Surroundings::new([], Amounts::from_json(Some(&json!({"cpu": "250m"}))));
        let mut pod = json!({"containers": [{"resources": {"requests": {"cpu": "1"}}}]});
        assert_eq!(of_pod(&pod, &class).to_string(), "cpu 1250m");
        pod["overhead"] = json!({"cpu": "100m"});
        assert_eq!(of_pod(&pod, &class).to_string(), "cpu 1100m");
    }

    #[test]
    fn a_limit_range_fills_in_what_a_container_leaves_out() {
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
