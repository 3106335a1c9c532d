//! Which resources of a container are devices that a process drives, and how many there are.
//!
//! Only names that count whole devices are taken; names that share one device (memory, cores, percentages) never are.

use serde_json::Value;

use super::Config;
use crate::k8s::json as k8s_json;
use crate::k8s::quantity::Quantity;

/// What a resource name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Whole GPUs, or shares that are counted like whole ones.
    Gpu,
    /// Slices of a GPU; a process sees one.
    Mig,
    /// Other devices: TPU, Gaudi, Neuron, Ascend.
    Other,
    /// A part of a device that cannot be counted.
    Share,
}

/// Marks of a resource that measures a share of a GPU, in the part of its name after the last slash.
const SHARE_MARKS: [&str; 8] = [
    "mem",
    "core",
    "percent",
    "ratio",
    "tile",
    "monitor",
    "max",
    "bandwidth",
];

fn class(name: &str, config: &Config) -> Option<Class> {
    if config.accelerators.iter().any(|known| known == name) {
        return Some(Class::Other);
    }
    let name = name.to_lowercase();
    let segment = name.rsplit('/').next().unwrap_or_default();
    if segment.starts_with("mig-") {
        return Some(Class::Mig);
    }
    if name.contains("gpu") {
        let share = SHARE_MARKS.iter().any(|mark| segment.contains(mark));
        return Some(if share { Class::Share } else { Class::Gpu });
    }
    let other = name == "google.com/tpu"
        || name == "habana.ai/gaudi"
        || name.starts_with("aws.amazon.com/neuron")
        || name.starts_with("huawei.com/ascend");
    other.then_some(Class::Other)
}

/// The devices that a container asks for; the first class that is present decides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Devices {
    /// This many GPUs.
    Gpus(i64),
    /// Slices of a GPU.
    Mig,
    /// This many other devices.
    Other(i64),
    /// Parts of a device, or claims whose devices only the cluster knows.
    Uncounted,
    /// None.
    None,
}

impl Devices {
    /// Gives the number of processes that drive the devices, where each device gets one: a slice or a share is one
    /// device to its process. `None` where there are no devices.
    pub(super) fn processes(&self) -> Option<i64> {
        match self {
            Self::Gpus(number) | Self::Other(number) => Some(*number),
            Self::Mig | Self::Uncounted => Some(1),
            Self::None => None,
        }
    }
}

/// Finds the devices in the resources of a container. A name's request counts, else its limit, rounded up.
pub(super) fn devices(resources: &Value, config: &Config) -> Devices {
    let (mut gpus, mut mig, mut other, mut uncounted) = (0_i64, 0_i64, 0_i64, 0_i64);
    for (name, amount) in amounts(resources) {
        let sum = match class(name, config) {
            Some(Class::Gpu) => &mut gpus,
            Some(Class::Mig) => &mut mig,
            Some(Class::Other) => &mut other,
            Some(Class::Share) => &mut uncounted,
            None => continue,
        };
        *sum = sum.saturating_add(amount);
    }
    let claims = !k8s_json::list(resources, &["claims"]).is_empty();
    if gpus > 0 {
        Devices::Gpus(gpus)
    } else if mig > 0 {
        Devices::Mig
    } else if other > 0 {
        Devices::Other(other)
    } else if uncounted > 0 || claims {
        Devices::Uncounted
    } else {
        Devices::None
    }
}

/// Gives the CPUs of a container, rounded up: the request, or the limit where no request is made.
pub(super) fn cpus(resources: &Value) -> Option<i64> {
    let amount = |kind: &str| {
        let quantity = Quantity::from_json(k8s_json::at(resources, &[kind, "cpu"])?).ok()?;
        (!quantity.is_zero()).then(|| quantity.ceil().max(1))
    };
    amount("requests").or_else(|| amount("limits"))
}

/// Lists each resource once, with its request or else its limit as a whole number.
fn amounts(resources: &Value) -> impl Iterator<Item = (&str, i64)> {
    let side = |kind: &str| resources.get(kind).and_then(Value::as_object);
    let (requests, limits) = (side("requests"), side("limits"));
    let only_limits = limits
        .into_iter()
        .flatten()
        .filter(move |(name, _)| requests.and_then(|r| r.get(*name)).is_none_or(|q| whole(q) == 0));
    let requests = requests.into_iter().flatten();
    requests
        .chain(only_limits)
        .map(|(name, quantity)| (name.as_str(), whole(quantity)))
}

fn whole(quantity: &Value) -> i64 {
    Quantity::from_json(quantity).map_or(0, Quantity::ceil)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn devices(resources: &Value) -> Devices {
        super::devices(resources, &Config::default())
    }

    #[test]
    fn devices_are_told_from_shares_of_devices() {
        for (name, wanted) in [
            ("nvidia.com/gpu", Devices::Gpus(2)),
            ("nvidia.com/gpu.shared", Devices::Gpus(2)),
            ("amd.com/gpu", Devices::Gpus(2)),
            ("gpu.intel.com/i915", Devices::Gpus(2)),
            ("volcano.sh/vgpu-number", Devices::Gpus(2)),
            ("nvidia.com/mig-1g.5gb", Devices::Mig),
            ("google.com/tpu", Devices::Other(2)),
            ("aws.amazon.com/neuroncore", Devices::Other(2)),
            ("huawei.com/Ascend910", Devices::Other(2)),
            ("nvidia.com/gpumem", Devices::Uncounted),
            ("nvidia.com/gpucores", Devices::Uncounted),
            ("volcano.sh/vgpu-memory", Devices::Uncounted),
            ("memory", Devices::None),
        ] {
            assert_eq!(devices(&json!({"limits": {name: "2"}})), wanted, "{name}");
        }
    }

    #[test]
    fn a_request_counts_before_a_limit_and_zero_is_not_asked_for() {
        let both = json!({"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "4"}});
        assert_eq!(devices(&both), Devices::Gpus(1));
        let zero = json!({"requests": {"nvidia.com/gpu": 0}, "limits": {"nvidia.com/gpu": "4"}});
        assert_eq!(devices(&zero), Devices::Gpus(4));
        assert_eq!(
            devices(&json!({"limits": {"nvidia.com/gpu": "0"}})),
            Devices::None
        );
    }

    #[test]
    fn further_names_come_from_the_settings() {
        let config = Config {
            accelerators: vec!["example.com/npu".to_owned()],
        };
        let resources = json!({"limits": {"example.com/npu": "3"}});
        assert_eq!(super::devices(&resources, &config), Devices::Other(3));
        assert_eq!(devices(&resources), Devices::None);
    }

    #[test]
    fn cpus_round_up() {
        assert_eq!(cpus(&json!({"requests": {"cpu": "2500m"}})), Some(3));
        assert_eq!(
            cpus(&json!({"requests": {"cpu": "0"}, "limits": {"cpu": 2.0}})),
            Some(2)
        );
        assert_eq!(cpus(&json!({"limits": {"memory": "1Gi"}})), None);
    }
}
