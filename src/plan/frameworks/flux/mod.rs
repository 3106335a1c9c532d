//! Flux: a Flux instance over the nodes, in which the first one runs the program.
//!
//! An init container brings Flux from the image of its view; a script starts it before the program. Source of the
//! rules: `flux-broker(1)`, `flux-start(1)` and the configuration of a system instance.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Map, Value, json};

use crate::api::names;
use crate::api::raw::Raw;
use crate::api::runtime::FluxPolicy;
use crate::k8s::json::{self as k8s_json, list_mut};
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::upsert;
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::framework::Framework;
use crate::plan::{Recipe, accelerators, check, owner, secrets};

const INIT: &str = include_str!("init.sh");
const ENTRYPOINT: &str = include_str!("entrypoint.sh");

const VIEW_IMAGE: &str = "ghcr.io/converged-computing/flux-view-ubuntu:tag-jammy";
const NETWORK_DEVICE: &str = "eth0";
const QUEUE_POLICY: &str = "fcfs";
/// Variable that names the network device of the brokers.
const DEVICE_SETTING: &str = "FLUX_NETWORK_DEVICE";
/// Variable that names the order in which Flux starts jobs.
const POLICY_SETTING: &str = "FLUX_QUEUE_POLICY";
/// Init container that brings Flux.
const INSTALLER: &str = "flux-installer";
const CONFIG_PATH: &str = "/etc/flux-config";
const CURVE_VOLUME: &str = "flux-curve";

/// Volume and path of each mount of the program's container but the scripts', in order; whether it is read-only.
const MOUNTS: [(&str, &str, bool); 4] = [
    ("flux-install", "/mnt/flux", false),
    ("spack-install", "/opt/software", false),
    (CURVE_VOLUME, "/curve", true),
    ("shared-memory", "/dev/shm", true),
];

impl Framework for FluxPolicy {
    fn name(&self) -> &'static str {
        "flux"
    }

    fn takes_processes(&self) -> bool {
        true
    }

    fn check(&self, draft: &Draft<'_>, problems: &mut Problems) {
        let Some(trainer) = draft.trainer() else {
            return;
        };
        let spec = draft.spec(trainer.index).pod();
        if k8s_json::named(k8s_json::list(spec, &["initContainers"]), INSTALLER).is_some() {
            let message = format!(
                "the runtime has an init container {INSTALLER:?}, which is the name of the one that brings Flux; rename it"
            );
            problems.push(Problem::invalid("spec.trainer.initContainers", message));
        }
        for name in [DEVICE_SETTING, POLICY_SETTING] {
            let value = setting(draft, trainer, name).unwrap_or_default();
            if !value
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "-_.:@/".contains(c))
            {
                let message = format!("{name} is {value:?}; use letters, digits and any of - _ . : @ /");
                problems.push(Problem::invalid("spec.trainer.env", message));
            }
        }
        check::volume_is_free(draft, trainer, &scripts_name(draft), problems);
        check::mount_is_free(draft, trainer, names::NODE, CONFIG_PATH, problems);
        for (volume, path, _) in MOUNTS {
            check::volume_is_free(draft, trainer, volume, problems);
            check::mount_is_free(draft, trainer, names::NODE, path, problems);
        }
    }

    fn inject(&self, draft: &mut Draft<'_>) {
        let Some(trainer) = draft.trainer().cloned() else {
            return;
        };
        let instance = Instance::of(self, draft, &trainer);
        let (scripts, curve) = (scripts_name(draft), format!("{}-flux-curve", draft.job_name()));
        if let Some(pod) = draft.pod_spec_mut(trainer.index) {
            for volume in volumes(&scripts, &curve) {
                upsert::by_key(list_mut(pod, "volumes"), "name", volume);
            }
            list_mut(pod, "initContainers").push(installer(&instance, &scripts));
        }
        draft.because("command", || {
            "Flux is started first; command and arguments follow, word by word".to_owned()
        });
        if let Some(container) = draft.container_mut(trainer.index, names::NODE) {
            mount(container, &scripts);
            wrap(container);
        }
        draft.config_maps.push(ConfigMap {
            metadata: owner::owned(draft.job, scripts),
            data: Some(BTreeMap::from([
                ("entrypoint.sh".to_owned(), instance.fill(ENTRYPOINT)),
                ("init.sh".to_owned(), instance.fill(INIT)),
            ])),
            ..ConfigMap::default()
        });
        draft
            .secrets
            .push(secrets::of(draft.job, curve, Recipe::CurveCertificate));
    }

    fn kueue_warnings(&self, draft: &Draft<'_>) -> Vec<String> {
        if draft.job.spec.trainer.is_some() {
            return Vec::new();
        }
        vec!["Kueue cannot admit a Flux job without spec.trainer; set spec.trainer.numNodes".to_owned()]
    }
}

fn scripts_name(draft: &Draft<'_>) -> String {
    format!("{}-flux-entrypoint", draft.job_name())
}

/// What the scripts are told.
struct Instance {
    image: String,
    /// Each placeholder of the scripts with what takes its place.
    texts: [(&'static str, String); 7],
}

impl Instance {
    fn of(policy: &FluxPolicy, draft: &Draft<'_>, trainer: &ReplicatedJob) -> Self {
        let setting = |name: &str, default: &str| setting(draft, trainer, name).unwrap_or(default).to_owned();
        let devices = accelerators::devices(draft.resources(trainer.index, names::NODE), draft.config);
        let (nodes, tasks, gpus) = (
            trainer.count.max(1),
            tasks(policy, draft),
            devices.processes().unwrap_or(0),
        );
        let pods = format!("{}-{}-0-", draft.job_name(), trainer.name);
        let mut flags = vec![format!("-N {nodes} -n {}", tasks.saturating_mul(nodes))];
        let mut resources = vec![format!("--cores={}", range(tasks))];
        if gpus > 0 {
            // The flag counts the GPUs of one task. Tasks that share a GPU cannot ask for a part of it: they see all.
            flags.push(match gpus / tasks {
                0 => "-o gpu-affinity=off".to_owned(),
                each => format!("-g {each}"),
            });
            resources.push(format!("--gpu={}", range(gpus)));
        }
        let namespace = draft.job.metadata.namespace.as_deref().unwrap_or_default();
        Self {
            image: setting("FLUX_VIEW_IMAGE", VIEW_IMAGE),
            texts: [
                ("@HOSTS@", format!("{pods}[{}]", range(nodes))),
                ("@LEAD@", format!("{pods}0")),
                ("@FLAGS@", flags.join(" ")),
                ("@RESOURCES@", resources.join(" ")),
                ("@DEVICE@", setting(DEVICE_SETTING, NETWORK_DEVICE)),
                ("@POLICY@", setting(POLICY_SETTING, QUEUE_POLICY)),
                (
                    "@DOMAIN@",
                    format!("{}.{namespace}.svc.cluster.local", draft.subdomain()),
                ),
            ],
        }
    }

    fn fill(&self, script: &str) -> String {
        self.texts.iter().fold(script.to_owned(), |script, (name, text)| {
            script.replace(name, text)
        })
    }
}

/// Gives `0` or `0-<last>` for so many things.
fn range(number: i64) -> String {
    if number > 1 {
        format!("0-{}", number - 1)
    } else {
        "0".to_owned()
    }
}

/// Tasks on each node.
fn tasks(policy: &FluxPolicy, draft: &Draft<'_>) -> i64 {
    let stated = policy.num_proc_per_node.unwrap_or(1);
    draft.job.num_proc_per_node().unwrap_or(i64::from(stated)).max(1)
}

/// Finds a setting in the plain values of the job's environment, else of the runtime's.
fn setting<'d>(draft: &'d Draft<'_>, trainer: &ReplicatedJob, name: &str) -> Option<&'d str> {
    let mut own = draft.job.trainer_env().iter().map(Raw::value);
    let job = own.find(|entry| k8s_json::name(entry) == Some(name));
    let node = draft
        .container(trainer.index, names::NODE)
        .unwrap_or(&Value::Null);
    let runtime = k8s_json::named(k8s_json::list(node, &["env"]), name);
    [job, runtime]
        .into_iter()
        .flatten()
        .find_map(|entry| k8s_json::text(entry, &["value"]).filter(|value| !value.is_empty()))
}

fn volumes(scripts: &str, curve: &str) -> [Value; 5] {
    [
        json!({"name": "spack-install", "emptyDir": {}}),
        json!({"name": "flux-install", "emptyDir": {}}),
        json!({"name": scripts, "configMap": {"name": scripts, "defaultMode": 0o755}}),
        json!({"name": "shared-memory", "emptyDir": {"medium": "Memory"}}),
        json!({"name": CURVE_VOLUME, "secret": {"secretName": curve, "defaultMode": 0o400}}),
    ]
}

fn installer(instance: &Instance, scripts: &str) -> Value {
    json!({
        "name": INSTALLER,
        "image": instance.image,
        "command": ["/bin/bash", format!("{CONFIG_PATH}/init.sh")],
        "volumeMounts": [
            {"name": "flux-install", "mountPath": "/mnt/flux"},
            {"name": scripts, "mountPath": CONFIG_PATH, "readOnly": true},
        ],
    })
}

fn mount(container: &mut Map<String, Value>, scripts: &str) {
    let mounts = list_mut(container, "volumeMounts");
    let [install, software, curve, memory] = MOUNTS;
    for (name, path, read_only) in [install, software, (scripts, CONFIG_PATH, true), curve, memory] {
        let mut mount = json!({"name": name, "mountPath": path});
        if read_only {
            mount["readOnly"] = json!(true);
        }
        upsert::by_key(mounts, "mountPath", mount);
    }
}

/// Puts the script before the program.
fn wrap(container: &mut Map<String, Value>) {
    let program = container.remove("command");
    let words = program.iter().filter_map(Value::as_array).flatten().cloned();
    let mut command = vec![json!("/bin/bash"), json!(format!("{CONFIG_PATH}/entrypoint.sh"))];
    command.extend(words);
    container.insert("command".to_owned(), command.into());
}
