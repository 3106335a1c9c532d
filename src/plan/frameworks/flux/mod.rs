//! Flux: a Flux instance over the nodes, in which the first one runs the program.
//!
//! An init container brings Flux from the image of its view; a script starts it before the program. Source of the
//! rules: `flux-broker(1)`, `flux-start(1)` and the configuration of a system instance.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use crate::api::raw::Raw;
use crate::api::runtime::FluxPolicy;
use crate::k8s::json as k8s_json;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::draft::Draft;
use crate::plan::framework::Framework;
use crate::plan::injection::{CheckedInjection, Command, ContainerInjection, Injection, Mount, PodInjection};
use crate::plan::nodes::Nodes;
use crate::plan::ownership;
use crate::plan::secrets::{self, Recipe};

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

    fn injection(&self, draft: &Draft<'_>) -> Result<CheckedInjection, Problems> {
        let Some(nodes) = Nodes::find(draft, self.name())? else {
            return Injection::default().check(draft, self.name(), Problems::default());
        };
        let mut problems = Problems::default();
        check_installer(draft, &nodes, &mut problems);
        check_settings(draft, &nodes, &mut problems);
        let instance = Instance::of(self, draft, &nodes);
        let scripts = format!("{}-flux-entrypoint", draft.job_name());
        let curve = format!("{}-flux-curve", draft.job_name());
        let pod = PodInjection {
            volumes: volumes(&scripts, &curve),
            init_containers: vec![installer(&instance, &scripts)],
        };
        let why = "Flux is started first; command and arguments follow, word by word";
        let start = ["/bin/bash".to_owned(), format!("{CONFIG_PATH}/entrypoint.sh")];
        let container = ContainerInjection {
            mounts: mounts(&scripts),
            command: Some((Command::Prefix(start.into()), why)),
            ..ContainerInjection::default()
        };
        let files = [("entrypoint.sh", ENTRYPOINT), ("init.sh", INIT)];
        let files = files.map(|(name, script)| (name.to_owned(), instance.fill(script)));
        let injection = Injection {
            pods: vec![(nodes.rjob.index, pod)],
            containers: vec![(nodes.container, container)],
            config_maps: vec![ConfigMap {
                metadata: ownership::owned(draft.job, scripts),
                data: Some(BTreeMap::from(files)),
                ..ConfigMap::default()
            }],
            secrets: vec![secrets::of(draft.job, curve, Recipe::CurveCertificate)],
            ..Injection::default()
        };
        injection.check(draft, self.name(), problems)
    }

    fn kueue_warnings(&self, draft: &Draft<'_>) -> Vec<String> {
        if draft.job.spec.trainer.is_some() {
            return Vec::new();
        }
        vec!["Kueue cannot admit a Flux job without spec.trainer; set spec.trainer.numNodes".to_owned()]
    }
}

/// Refuses an init container of the name of the one that brings Flux.
fn check_installer(draft: &Draft<'_>, nodes: &Nodes, problems: &mut Problems) {
    let init = k8s_json::list(draft.spec(nodes.rjob.index).pod(), &["initContainers"]);
    if k8s_json::named(init, INSTALLER).is_some() {
        let message = format!(
            "the runtime has an init container {INSTALLER:?}, which is the name of the one that brings Flux; rename it"
        );
        problems.push(Problem::invalid("spec.trainer.initContainers", message));
    }
}

/// Refuses settings that would break the scripts that they are written into.
fn check_settings(draft: &Draft<'_>, nodes: &Nodes, problems: &mut Problems) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.:@/".contains(c);
    for name in [DEVICE_SETTING, POLICY_SETTING] {
        let value = setting(draft, nodes, name).unwrap_or_default();
        if !value.chars().all(is_plain) {
            let message = format!("{name} is {value:?}; use letters, digits and any of - _ . : @ /");
            problems.push(Problem::invalid("spec.trainer.env", message));
        }
    }
}

/// What is written into the scripts.
struct Instance {
    image: String,
    /// Each placeholder of the scripts with what takes its place.
    texts: [(&'static str, String); 7],
}

impl Instance {
    fn of(policy: &FluxPolicy, draft: &Draft<'_>, nodes: &Nodes) -> Self {
        let setting = |name: &str, default: &str| setting(draft, nodes, name).unwrap_or(default).to_owned();
        let gpus = draft.devices(nodes.container).processes().unwrap_or(0);
        let (count, tasks) = (nodes.rjob.count.max(1), tasks(policy, draft));
        let pods = format!("{}-{}-0-", draft.job_name(), nodes.rjob.name);
        let mut flags = vec![format!("-N {count} -n {}", tasks.saturating_mul(count))];
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
                ("@HOSTS@", format!("{pods}[{}]", range(count))),
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
fn setting<'d>(draft: &'d Draft<'_>, nodes: &Nodes, name: &str) -> Option<&'d str> {
    let mut own = draft.job.trainer_env().iter().map(Raw::value);
    let job = own.find(|entry| k8s_json::name(entry) == Some(name));
    let node = draft.container(nodes.container);
    let runtime = k8s_json::named(k8s_json::list(node, &["env"]), name);
    [job, runtime]
        .into_iter()
        .flatten()
        .find_map(|entry| k8s_json::text(entry, &["value"]).filter(|value| !value.is_empty()))
}

fn volumes(scripts: &str, curve: &str) -> Vec<(Value, &'static str)> {
    vec![
        (
            json!({"name": "spack-install", "emptyDir": {}}),
            "software that comes with Flux",
        ),
        (json!({"name": "flux-install", "emptyDir": {}}), "Flux itself"),
        (
            json!({"name": scripts, "configMap": {"name": scripts, "defaultMode": 0o755}}),
            "the scripts that install and start Flux",
        ),
        (
            json!({"name": "shared-memory", "emptyDir": {"medium": "Memory"}}),
            "memory that the processes of a node share",
        ),
        (
            json!({"name": CURVE_VOLUME, "secret": {"secretName": curve, "defaultMode": 0o400}}),
            "the certificate of the brokers",
        ),
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

fn mounts(scripts: &str) -> Vec<Mount> {
    let [install, software, curve, memory] = MOUNTS;
    [install, software, (scripts, CONFIG_PATH, true), curve, memory]
        .map(|(volume, path, read_only)| Mount {
            read_only,
            ..Mount::volume(volume, path)
        })
        .into()
}
