//! MPI: a launcher that starts processes on workers over SSH.
//!
//! The two are replicated jobs named `launcher` and `node`, whatever their labels. The controller makes a key pair and a
//! hostfile; with `runLauncherAsNode` the launcher computes too. Source of the names: Open MPI 4 reads `OMPI_MCA_*`,
//! Open MPI 5 starts processes through PRRTE, which reads `PRTE_MCA_*`; Intel MPI and MPICH start them through Hydra,
//! which reads `I_MPI_*` and `HYDRA_*`.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use super::{Framework, Part};
use crate::api::names;
use crate::api::runtime::MpiPolicy;
use crate::k8s::json::list_mut;
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::upsert;
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::resolve::RUNTIME_REF;
use crate::plan::{Recipe, accelerators, check, counts, env, files, owner, secrets};

/// MPI.
pub(super) struct Mpi;

/// What a launcher is told in terms of its MPI.
struct Implementation {
    name: &'static str,
    /// Variables that it is told by; a job must not set them.
    reserved: &'static [&'static str],
    /// Form of a host's line.
    line: fn(&str, i64) -> String,
    /// Whether the launcher knows itself by its bare host name only, and would reach for itself over SSH by another.
    bare_launcher: bool,
    /// The variables, for this number of processes on a node.
    env: fn(i64) -> Vec<Value>,
}

/// Where the launcher finds the hosts.
const HOSTFILE: &str = "/etc/mpi/hostfile";
/// A worker whose name is known may still be about to listen.
const SSH_OPTIONS: &str = "-o ConnectionAttempts=10";

/// What container runtimes call the network interface of a pod. Hydra's workers call the launcher back: they are told its
/// address on this interface, which the job may change; else its bare host name, which no DNS knows.
const POD_INTERFACE: &str = "eth0";

const OPEN_MPI: Implementation = Implementation {
    name: "OpenMPI",
    reserved: &[
        "OMPI_MCA_orte_default_hostfile",
        "OMPI_MCA_orte_keep_fqdn_hostnames",
        "OMPI_MCA_orte_set_default_slots",
        "OMPI_MCA_plm_rsh_args",
        "PRTE_MCA_plm_ssh_args",
        "PRTE_MCA_prte_default_hostfile",
        "PRTE_MCA_prte_keep_fqdn_hostnames",
    ],
    line: |host, slots| format!("{host} slots={slots}\n"),
    bare_launcher: false,
    env: |slots| {
        vec![
            env::value("OMPI_MCA_orte_default_hostfile", HOSTFILE),
            env::value("OMPI_MCA_orte_keep_fqdn_hostnames", true),
            env::value("OMPI_MCA_orte_set_default_slots", slots),
            env::value("OMPI_MCA_plm_rsh_args", SSH_OPTIONS),
            env::value("PRTE_MCA_prte_default_hostfile", HOSTFILE),
            env::value("PRTE_MCA_prte_keep_fqdn_hostnames", false),
            env::value("PRTE_MCA_plm_ssh_args", SSH_OPTIONS),
        ]
    },
};

const INTEL: Implementation = Implementation {
    name: "Intel",
    reserved: &[
        "I_MPI_HYDRA_BOOTSTRAP",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS",
        "I_MPI_HYDRA_HOST_FILE",
        "I_MPI_PERHOST",
    ],
    line: |host, slots| format!("{host}:{slots}\n"),
    bare_launcher: true,
    env: |slots| {
        vec![
            env::value("I_MPI_HYDRA_HOST_FILE", HOSTFILE),
            env::value("I_MPI_PERHOST", slots),
            // Without it, a resource manager that Intel MPI thinks it sees is asked to start the processes.
            env::value("I_MPI_HYDRA_BOOTSTRAP", "ssh"),
            env::value("I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS", SSH_OPTIONS),
            env::value("I_MPI_HYDRA_IFACE", POD_INTERFACE),
        ]
    },
};

const MPICH: Implementation = Implementation {
    name: "MPICH",
    reserved: &["HYDRA_HOST_FILE", "HYDRA_LAUNCHER", "HYDRA_LAUNCHER_EXTRA_ARGS"],
    line: |host, slots| format!("{host}:{slots}\n"),
    bare_launcher: false,
    env: |_| {
        vec![
            env::value("HYDRA_HOST_FILE", HOSTFILE),
            env::value("HYDRA_LAUNCHER", "ssh"),
            env::value("HYDRA_LAUNCHER_EXTRA_ARGS", SSH_OPTIONS),
            env::value("HYDRA_IFACE", POD_INTERFACE),
        ]
    },
};

impl Framework for Mpi {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn reserved_env(&self, draft: &Draft<'_>) -> &'static [&'static str] {
        implementation(draft).map_or(&[], |implementation| implementation.reserved)
    }

    /// The launcher may carry any label; without one, [`Framework::check`] says what is missing.
    fn needs_trainer(&self) -> bool {
        false
    }

    fn takes_processes(&self) -> bool {
        true
    }

    /// The launcher is one pod. The rest of the nodes are workers.
    fn settle_counts(&self, draft: &mut Draft<'_>) {
        let stated = draft
            .rjob(names::NODE)
            .and_then(|rjob| draft.runtime_spec(rjob).parallelism())
            .map(|count| count.max(1));
        counts::settle(draft);
        let policy_nodes = draft.runtime.spec.ml_policy.as_ref().and_then(|ml| ml.num_nodes);
        let total = draft
            .job
            .num_nodes()
            .or(policy_nodes.map(i64::from).filter(|nodes| *nodes > 1));
        let beside_launcher = i64::from(launcher_is_node(draft));
        let nodes = draft.job.num_nodes().is_some();
        let (workers, why) = match (total, stated) {
            (Some(total), _) => {
                let why = match (nodes, beside_launcher > 0) {
                    (true, false) => counts::FROM_JOB,
                    (true, true) => "spec.trainer.numNodes, of which the launcher is one",
                    (false, false) => counts::FROM_POLICY,
                    (false, true) => "the runtime's mlPolicy.numNodes, of which the launcher is one",
                };
                ((total - beside_launcher).max(0), why)
            }
            (None, Some(stated)) => (stated, "the runtime's parallelism, completions follow it"),
            (None, None) if beside_launcher > 0 => (0, "one node, which is the launcher"),
            (None, None) => (1, "one node"),
        };
        for rjob in &mut draft.rjobs {
            (rjob.count, rjob.count_why) = match rjob.name.as_str() {
                names::NODE => (workers, why),
                names::LAUNCHER => (1, "a launcher is one pod"),
                _ => continue,
            };
        }
    }

    /// Image and environment go to the pods that compute and to the launcher, command and arguments to the launcher, and
    /// resources to those that compute: a launcher that is no node holds no accelerator.
    fn takes(&self, draft: &Draft<'_>, rjob: &ReplicatedJob, part: Part) -> bool {
        let labelled = rjob.trains();
        match (rjob.name.as_str(), part) {
            (names::NODE, Part::Command) => false,
            (names::NODE, Part::Env | Part::Resources) | (names::LAUNCHER, Part::Env) => true,
            (names::LAUNCHER, Part::Resources) => {
                launcher_is_node(draft) || draft.rjob(names::NODE).is_none()
            }
            _ => labelled,
        }
    }

    fn is_node(&self, draft: &Draft<'_>, rjob: &ReplicatedJob) -> bool {
        workers(draft).is_some_and(|workers| workers.index == rjob.index)
    }

    fn check(&self, draft: &Draft<'_>, problems: &mut Problems) {
        let wants_both = launcher_is_node(draft) && draft.job.num_nodes().is_some_and(|nodes| nodes > 1);
        let missing: Vec<_> = [names::LAUNCHER, names::NODE]
            .into_iter()
            .filter(|name| draft.rjob(name).is_none())
            .collect();
        if wants_both && !missing.is_empty() {
            let message = format!(
                "several nodes with a launcher that is one of them need the replicated jobs {:?} and {:?}; \
                 the runtime has no {}",
                names::LAUNCHER,
                names::NODE,
                missing.join(" and no ")
            );
            problems.push(Problem::invalid("spec.trainer.numNodes", message));
        }
        if draft.rjob(names::LAUNCHER).is_none()
            && draft.rjob(names::NODE).is_none()
            && draft.trainer().is_none()
        {
            let message = format!(
                "the runtime's mlPolicy.mpi works on replicated jobs named {:?} and {:?}, and the runtime has neither",
                names::LAUNCHER,
                names::NODE
            );
            problems.push(Problem::invalid(RUNTIME_REF, message));
        }
        hostfile_fits(draft, problems);
        for rjob in both(draft) {
            check::volume_is_free(draft, rjob, names::MPI_SSH_VOLUME, problems);
            check::mount_is_free(draft, rjob, names::NODE, &ssh_path(draft), problems);
            if rjob.name == names::LAUNCHER {
                check::volume_is_free(draft, rjob, names::MPI_HOSTFILE_VOLUME, problems);
                check::mount_is_free(draft, rjob, names::NODE, names::MPI_CONFIG_PATH, problems);
            }
        }
    }

    fn inject(&self, draft: &mut Draft<'_>) {
        let Some(implementation) = implementation(draft) else {
            return;
        };
        let slots = slots(draft);
        for index in both(draft).map(|rjob| rjob.index).collect::<Vec<_>>() {
            mount_keys(draft, index);
        }
        if let Some(launcher) = draft.rjob(names::LAUNCHER).cloned() {
            mount_hostfile(draft, &launcher);
            for name in implementation.reserved {
                draft.because_env(name, implementation.name);
            }
            draft.because_env("OMPI_MCA_orte_set_default_slots", SLOTS_WHY);
            draft.because_env("I_MPI_PERHOST", SLOTS_WHY);
            if let Some(container) = draft.container_mut(launcher.index, names::NODE) {
                env::upsert(container, &(implementation.env)(slots));
            }
        }
        let secret = format!("{}{}", draft.job_name(), names::MPI_SSH_SECRET_SUFFIX);
        draft
            .secrets
            .push(secrets::of(draft.job, secret, Recipe::SshKeyPair));
        let hosts = hosts(draft, implementation, slots);
        draft.config_maps.push(ConfigMap {
            metadata: owner::owned(draft.job, hostfile_name(draft)),
            data: Some(BTreeMap::from([(
                names::MPI_HOSTFILE.to_owned(),
                hosts.unwrap_or_default(),
            )])),
            ..ConfigMap::default()
        });
    }
}

const SLOTS_WHY: &str = "spec.trainer.numProcPerNode, else the runtime's mlPolicy.mpi.numProcPerNode, else one for each accelerator";

fn policy<'d>(draft: &Draft<'d>) -> Option<&'d MpiPolicy> {
    draft.runtime.spec.ml_policy.as_ref()?.mpi.as_ref()
}

/// Gives the MPI of the runtime; `None` for one that the rules of the runtime refuse.
fn implementation(draft: &Draft<'_>) -> Option<&'static Implementation> {
    match policy(draft)?.mpi_implementation.as_deref().unwrap_or_default() {
        "" | "OpenMPI" => Some(&OPEN_MPI),
        "Intel" => Some(&INTEL),
        "MPICH" => Some(&MPICH),
        _ => None,
    }
}

fn launcher_is_node(draft: &Draft<'_>) -> bool {
    policy(draft)
        .and_then(|mpi| mpi.run_launcher_as_node)
        .unwrap_or(false)
}

fn ssh_path(draft: &Draft<'_>) -> String {
    policy(draft)
        .and_then(|mpi| mpi.ssh_auth_mount_path.clone())
        .filter(|path| !path.is_empty())
        .unwrap_or_else(|| names::MPI_SSH_PATH.to_owned())
}

fn hostfile_name(draft: &Draft<'_>) -> String {
    format!("{}{}", draft.job_name(), names::MPI_HOSTFILE_SUFFIX)
}

/// Lists launcher and workers in the runtime's order.
fn both<'d>(draft: &'d Draft<'_>) -> impl Iterator<Item = &'d ReplicatedJob> {
    draft
        .rjobs
        .iter()
        .filter(|rjob| matches!(rjob.name.as_str(), names::NODE | names::LAUNCHER))
}

/// Gives the pods whose resources are a node's.
fn workers<'d>(draft: &'d Draft<'_>) -> Option<&'d ReplicatedJob> {
    draft
        .rjob(names::NODE)
        .filter(|rjob| rjob.count > 0)
        .or_else(|| draft.rjob(names::LAUNCHER))
}

/// Works out how many processes a node takes.
fn slots(draft: &Draft<'_>) -> i64 {
    if let Some(number) = draft.job.num_proc_per_node() {
        return number;
    }
    let stated = policy(draft).and_then(|mpi| mpi.num_proc_per_node).unwrap_or(1);
    if stated != 1 {
        return i64::from(stated);
    }
    let node = draft.rjob(names::NODE).or_else(|| draft.rjob(names::LAUNCHER));
    let resources = node.map_or(&Value::Null, |rjob| draft.resources(rjob.index, names::NODE));
    accelerators::devices(resources, draft.config)
        .processes()
        .unwrap_or(1)
}

/// Returns the hostfile, or `None` if it is larger than a ConfigMap can hold.
fn hosts(draft: &Draft<'_>, implementation: &Implementation, slots: i64) -> Option<String> {
    let is_host = |rjob: &&ReplicatedJob| rjob.name == names::NODE || launcher_is_node(draft);
    let named = |rjob: &ReplicatedJob, host: String| match host.split_once('.') {
        Some((bare, _)) if implementation.bare_launcher && rjob.name == names::LAUNCHER => bare.to_owned(),
        _ => host,
    };
    let hosts = both(draft)
        .filter(is_host)
        .flat_map(|rjob| draft.hosts(rjob).map(move |host| named(rjob, host)));
    files::bounded(hosts.map(|host| (implementation.line)(&host, slots)))
}

/// Refuses more hosts than a hostfile can list.
fn hostfile_fits(draft: &Draft<'_>, problems: &mut Problems) {
    let fits = implementation(draft).is_none_or(|i| hosts(draft, i, slots(draft)).is_some());
    if !fits {
        let field = draft
            .job
            .num_nodes()
            .map_or(RUNTIME_REF, |_| "spec.trainer.numNodes");
        let message = format!(
            "the hostfile would be larger than the {} bytes that a ConfigMap can hold; use fewer nodes",
            files::LARGEST
        );
        problems.push(Problem::invalid(field, message));
    }
}

fn mount_keys(draft: &mut Draft<'_>, index: usize) {
    let item = |key: &str, path: &str, mode: i32| json!({"key": key, "path": path, "mode": mode});
    let volume = json!({
        "name": names::MPI_SSH_VOLUME,
        "secret": {
            "secretName": format!("{}{}", draft.job_name(), names::MPI_SSH_SECRET_SUFFIX),
            "defaultMode": 0o400,
            "items": [
                item(Recipe::SSH_PRIVATE_KEY, "id_rsa", 0o640),
                item(Recipe::SSH_PUBLIC_KEY, "id_rsa.pub", 0o644),
                item(Recipe::SSH_PUBLIC_KEY, "authorized_keys", 0o644),
            ],
        },
    });
    let mount = json!({"name": names::MPI_SSH_VOLUME, "mountPath": ssh_path(draft)});
    mount_volume(draft, index, volume, mount);
}

fn mount_hostfile(draft: &mut Draft<'_>, launcher: &ReplicatedJob) {
    let item = json!({"key": names::MPI_HOSTFILE, "path": names::MPI_HOSTFILE, "mode": 0o444});
    let volume = json!({
        "name": names::MPI_HOSTFILE_VOLUME,
        "configMap": {"name": hostfile_name(draft), "items": [item]},
    });
    let mount = json!({"name": names::MPI_HOSTFILE_VOLUME, "mountPath": names::MPI_CONFIG_PATH});
    mount_volume(draft, launcher.index, volume, mount);
}

fn mount_volume(draft: &mut Draft<'_>, index: usize, volume: Value, mount: Value) {
    if let Some(pod) = draft.pod_spec_mut(index) {
        upsert::by_key(list_mut(pod, "volumes"), "name", volume);
    }
    if let Some(container) = draft.container_mut(index, names::NODE) {
        upsert::by_key(list_mut(container, "volumeMounts"), "mountPath", mount);
    }
}
