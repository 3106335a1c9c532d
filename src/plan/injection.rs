//! What a framework puts into the pods: worked out and checked as data, before anything is put anywhere.
//!
//! Knows no framework. Nothing can go wrong when an injection is applied: it was checked, and it holds only containers that
//! are there.

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Map, Value, json};

use super::draft::{ContainerId, Draft};
use super::env::{self, Variable};
use super::replicated_job::{self, ReplicatedJobSpec};
use super::resolve::RUNTIME_REF;
use super::secrets::NewSecret;
use crate::k8s::json::{self as k8s_json, list_mut};
use crate::k8s::path::FieldPath;
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::upsert;

/// What a framework puts into the pods.
#[derive(Debug, Default)]
pub(super) struct Injection {
    /// Additions to containers.
    pub(super) containers: Vec<(ContainerId, ContainerInjection)>,
    /// Additions to the pods of replicated jobs, by index.
    pub(super) pods: Vec<(usize, PodInjection)>,
    /// What decides that the run ends well, where the framework says so.
    pub(super) success: Vec<Success>,
    /// Secrets of the job.
    pub(super) secrets: Vec<NewSecret>,
    /// Files for the pods.
    pub(super) config_maps: Vec<ConfigMap>,
    /// What the author should know although the job runs.
    pub(super) warnings: Vec<String>,
}

/// An injection that takes nobody's place.
#[derive(Debug)]
pub(super) struct CheckedInjection(Injection);

/// Additions to a container.
#[derive(Debug, Default)]
pub(super) struct ContainerInjection {
    /// Variables in front of all others, which may refer to them.
    pub(super) first: Vec<Variable>,
    /// Further variables, each in the place of the one with its name.
    pub(super) env: Vec<Variable>,
    /// TCP ports.
    pub(super) ports: Vec<i32>,
    /// Mounts of volumes.
    pub(super) mounts: Vec<Mount>,
    /// A change of the command, and why.
    pub(super) command: Option<(Command, &'static str)>,
}

/// A change of a container's command.
#[derive(Debug)]
pub(super) enum Command {
    /// These words take its place.
    Replace(Vec<String>),
    /// These words come before it.
    Prefix(Vec<String>),
}

/// A mount of a volume.
#[derive(Clone, Debug)]
pub(super) struct Mount {
    /// Name of the volume.
    pub(super) volume: String,
    /// Where it is mounted.
    pub(super) path: String,
    /// File of the volume; the whole volume if there is none.
    pub(super) sub_path: Option<&'static str>,
    /// Whether the container must not write to it.
    pub(super) read_only: bool,
}

/// Additions to the pods of a replicated job.
#[derive(Debug, Default)]
pub(super) struct PodInjection {
    /// Volumes, each with what it is for.
    pub(super) volumes: Vec<(Value, &'static str)>,
    /// Containers that run first.
    pub(super) init_containers: Vec<Value>,
}

/// What decides that a run ends well, and why.
#[derive(Debug)]
pub(super) enum Success {
    /// These replicated jobs do; JobSet then ends the others.
    ReplicatedJobs(Vec<String>, &'static str),
    /// The first pod of the replicated job with this index decides for its Job.
    FirstPod(usize, &'static str),
}

impl Injection {
    /// Makes an injection into one container.
    pub(super) fn into_container(at: ContainerId, container: ContainerInjection) -> Self {
        Self {
            containers: vec![(at, container)],
            ..Self::default()
        }
    }

    /// Adds another one.
    pub(super) fn extend(&mut self, other: Self) {
        self.containers.extend(other.containers);
        self.pods.extend(other.pods);
        self.success.extend(other.success);
        self.secrets.extend(other.secrets);
        self.config_maps.extend(other.config_maps);
        self.warnings.extend(other.warnings);
    }

    /// Refuses volumes, mounts and ports that are taken, beside the problems that the framework has found. `policy` is the
    /// name of its policy.
    pub(super) fn check(
        self,
        draft: &Draft<'_>,
        policy: &str,
        mut problems: Problems,
    ) -> Result<CheckedInjection, Problems> {
        for (rjob, pod) in &self.pods {
            for (volume, _) in &pod.volumes {
                let name = k8s_json::name(volume).unwrap_or_default();
                volume_is_free(draft, *rjob, name, &mut problems);
            }
        }
        for (at, container) in &self.containers {
            for mount in &container.mounts {
                mount_is_free(draft, *at, &mount.path, &mut problems);
            }
            for port in &container.ports {
                port_is_free(draft, *at, *port, policy, &mut problems);
            }
        }
        problems.into_result(CheckedInjection(self))
    }
}

impl CheckedInjection {
    /// Puts everything into the pods and the JobSet, and returns the objects that they need.
    pub(super) fn apply(self, draft: &mut Draft<'_>) -> (Vec<NewSecret>, Vec<ConfigMap>) {
        let Injection {
            containers,
            pods,
            success,
            secrets,
            config_maps,
            warnings,
        } = self.0;
        for (rjob, pod) in pods {
            pod.apply(draft, rjob);
        }
        for (at, container) in containers {
            container.apply(draft, at);
        }
        for success in success {
            success.apply(draft);
        }
        draft.warnings.extend(warnings);
        (secrets, config_maps)
    }
}

impl ContainerInjection {
    fn apply(self, draft: &mut Draft<'_>, at: ContainerId) {
        for variable in self.first.iter().chain(&self.env) {
            let path = |draft: &Draft<'_>| draft.path(at).field("env").key(variable.name());
            draft.because(path, variable.why);
        }
        if let Some((_, why)) = self.command {
            draft.because(|draft| draft.path(at).field("command"), why);
        }
        let container = draft.container_mut(at);
        for mount in self.mounts {
            upsert::by_key(list_mut(container, "volumeMounts"), "mountPath", mount.to_json());
        }
        env::put_first(container, entries(self.first).collect());
        env::upsert(container, entries(self.env));
        for port in self.ports {
            upsert::port(list_mut(container, "ports"), json!({"containerPort": port}));
        }
        if let Some((command, _)) = self.command {
            command.apply(container);
        }
    }
}

fn entries(variables: Vec<Variable>) -> impl Iterator<Item = Value> {
    variables.into_iter().map(|variable| variable.entry)
}

impl Command {
    fn apply(self, container: &mut Map<String, Value>) {
        let words = match self {
            Self::Replace(words) => words.into(),
            Self::Prefix(words) => {
                let before = container.remove("command");
                let before = before.iter().filter_map(Value::as_array).flatten().cloned();
                words.into_iter().map(Value::from).chain(before).collect()
            }
        };
        container.insert("command".to_owned(), words);
    }
}

impl Mount {
    /// Mounts a whole volume.
    pub(super) fn volume(volume: &str, path: &str) -> Self {
        Self {
            volume: volume.to_owned(),
            path: path.to_owned(),
            sub_path: None,
            read_only: false,
        }
    }

    fn to_json(&self) -> Value {
        let mut mount = json!({"name": self.volume, "mountPath": self.path});
        if let Some(file) = self.sub_path {
            mount["subPath"] = json!(file);
        }
        if self.read_only {
            mount["readOnly"] = json!(true);
        }
        mount
    }
}

impl PodInjection {
    fn apply(self, draft: &mut Draft<'_>, rjob: usize) {
        for (volume, why) in self.volumes {
            let name = k8s_json::name(&volume).unwrap_or_default();
            draft.because(|draft| draft.pod_path(rjob).field("volumes").key(name), why);
            upsert::by_key(list_mut(draft.pod_mut(rjob), "volumes"), "name", volume);
        }
        if !self.init_containers.is_empty() {
            list_mut(draft.pod_mut(rjob), "initContainers").extend(self.init_containers);
        }
    }
}

impl Success {
    fn apply(self, draft: &mut Draft<'_>) {
        match self {
            Self::ReplicatedJobs(names, why) => {
                for field in ["operator", "targetReplicatedJobs"] {
                    draft.because(|_| FieldPath::new("successPolicy").field(field), why);
                }
                let policy = json!({"operator": "All", "targetReplicatedJobs": names});
                k8s_json::object_mut(&mut draft.jobset, &["spec"]).insert("successPolicy".to_owned(), policy);
            }
            Self::FirstPod(rjob, why) => {
                draft.because(|_| FieldPath::new("successPolicy.rules"), why);
                let spec = replicated_job::job_spec_mut(draft.rjob_mut(rjob));
                // In Kubernetes the policy needs this mode; JobSet sets it too where it is not given.
                spec.entry("completionMode").or_insert_with(|| json!("Indexed"));
                spec.entry("successPolicy")
                    .or_insert_with(|| json!({"rules": [{"succeededIndexes": "0"}]}));
            }
        }
    }
}

/// A volume that a framework adds must not take the place of another one with its name.
fn volume_is_free(draft: &Draft<'_>, rjob: usize, volume: &str, problems: &mut Problems) {
    let is_taken = |rjob: ReplicatedJobSpec<'_>| {
        k8s_json::named(k8s_json::list(rjob.pod(), &["volumes"]), volume).is_some()
    };
    if is_taken(draft.spec(rjob)) {
        let (field, source) = source(draft, rjob, is_taken);
        let message = format!(
            "replicated job {:?}{source} has a volume {volume:?}, which is a name that the framework uses; rename it",
            draft.spec(rjob).name()
        );
        problems.push(Problem::invalid(field, message));
    }
}

/// A mount that a framework adds must not hide another one, or be hidden by it.
fn mount_is_free(draft: &Draft<'_>, at: ContainerId, path: &str, problems: &mut Problems) {
    let same = |mount: &&Value| {
        let taken = k8s_json::text(mount, &["mountPath"]);
        taken.is_some_and(|taken| taken.trim_end_matches('/') == path.trim_end_matches('/'))
    };
    let name = k8s_json::name(draft.container(at)).unwrap_or_default();
    let mounts = k8s_json::list(draft.container(at), &["volumeMounts"]);
    if let Some(taken) = mounts.iter().find(same) {
        let is_taken = |rjob: ReplicatedJobSpec<'_>| {
            let container = rjob.container(name).unwrap_or(&Value::Null);
            k8s_json::list(container, &["volumeMounts"])
                .iter()
                .any(|mount| same(&mount))
        };
        let (field, source) = source(draft, at.rjob, is_taken);
        let message = format!(
            "container {name:?} of replicated job {:?}{source} mounts volume {:?} at {path}, where the framework mounts its own; \
             use another path",
            draft.spec(at.rjob).name(),
            k8s_json::name(taken).unwrap_or_default()
        );
        problems.push(Problem::invalid(field, message));
    }
}

/// Returns the field that has brought something into a replicated job, and how messages say so: the runtime if it is
/// there, else a patch.
fn source(
    draft: &Draft<'_>,
    rjob: usize,
    is_there: impl Fn(ReplicatedJobSpec<'_>) -> bool,
) -> (&'static str, &'static str) {
    if is_there(draft.runtime_spec(rjob)) {
        (RUNTIME_REF, " of the runtime")
    } else {
        ("spec.runtimePatches", "")
    }
}

/// The port of a framework must not be that of another container of the pods: only one of the two could listen.
fn port_is_free(draft: &Draft<'_>, at: ContainerId, port: i32, policy: &str, problems: &mut Problems) {
    let opens = |container: &&Value| {
        k8s_json::list(container, &["ports"]).iter().any(|open| {
            let number = open.get("containerPort").and_then(Value::as_i64);
            let protocol = k8s_json::text(open, &["protocol"]).unwrap_or("TCP");
            number == Some(i64::from(port)) && protocol == "TCP"
        })
    };
    let own = k8s_json::name(draft.container(at));
    let rjob = draft.spec(at.rjob);
    let mut others = rjob
        .containers()
        .iter()
        .filter(|other| k8s_json::name(other) != own);
    if let Some(other) = others.find(opens) {
        let message = format!(
            "the runtime's mlPolicy.{policy} needs port {port} in replicated job {:?}, but container {:?} opens it; \
             change one of the two",
            rjob.name(),
            k8s_json::name(other).unwrap_or_default()
        );
        problems.push(Problem::invalid(RUNTIME_REF, message));
    }
}
