//! MPI: a launcher that starts processes on workers over SSH.
//!
//! The two are replicated jobs named `launcher` and `node`, whatever their labels. The controller makes a key pair and a
//! hostfile; with `runLauncherAsNode` the launcher computes too.

mod implementation;
mod warnings;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};

use implementation::{IMPLEMENTATIONS, Implementation};

use crate::api::names;
use crate::api::runtime::MpiPolicy;
use crate::k8s::json::list_mut;
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::upsert;
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::framework::{Framework, Part};
use crate::plan::resolve::RUNTIME_REF;
use crate::plan::{Recipe, Runtime, accelerators, check, counts, env, files, owner, secrets};

impl Framework for MpiPolicy {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn reserved_env(&self) -> &'static [&'static str] {
        implementation(self).reserved
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
        let beside_launcher = i64::from(launcher_is_node(self));
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
            (names::LAUNCHER, Part::Resources) => launcher_is_node(self) || draft.rjob(names::NODE).is_none(),
            _ => labelled,
        }
    }

    fn check_runtime(&self, _runtime: &Runtime, found: &mut Problems) {
        let known = IMPLEMENTATIONS.map(|known| known.name);
        let named = self.mpi_implementation.as_deref().unwrap_or_default();
        if !named.is_empty() && !known.contains(&named) {
            found.push(Problem::invalid(
                "spec.mlPolicy.mpi.mpiImplementation",
                format!("{named:?} is not supported; use one of {}", known.join(", ")),
            ));
        }
    }

    fn runtime_warnings(&self, runtime: &Runtime) -> Vec<String> {
        warnings::of_runtime(runtime)
    }

    /// The launcher is one of the nodes, or comes on top of them.
    fn upstream_pods(&self, draft: &Draft<'_>, rjob: &ReplicatedJob) -> i64 {
        match draft.job.num_nodes().filter(|_| rjob.name == names::NODE) {
            Some(wanted) if launcher_is_node(self) => (wanted - 1).max(1),
            Some(wanted) => wanted,
            None => counts::of_runtime(draft, rjob),
        }
    }

    fn upstream_takes_resources(&self, rjob: &ReplicatedJob) -> bool {
        rjob.trains() || launcher_is_node(self) && rjob.name == names::NODE
    }

    fn kueue_advice(&self) -> String {
        warnings::kueue_advice()
    }

    fn kueue_warnings(&self, _draft: &Draft<'_>) -> Vec<String> {
        warnings::of_kueue(self)
    }

    fn is_node(&self, draft: &Draft<'_>, rjob: &ReplicatedJob) -> bool {
        workers(draft).is_some_and(|workers| workers.index == rjob.index)
    }

    fn check(&self, draft: &Draft<'_>, problems: &mut Problems) {
        let wants_both = launcher_is_node(self) && draft.job.num_nodes().is_some_and(|nodes| nodes > 1);
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
        hostfile_fits(self, draft, problems);
        for rjob in both(draft) {
            check::volume_is_free(draft, rjob, names::MPI_SSH_VOLUME, problems);
            check::mount_is_free(draft, rjob, names::NODE, ssh_path(self), problems);
            if rjob.name == names::LAUNCHER {
                check::volume_is_free(draft, rjob, names::MPI_HOSTFILE_VOLUME, problems);
                check::mount_is_free(draft, rjob, names::NODE, names::MPI_CONFIG_PATH, problems);
            }
        }
    }

    fn inject(&self, draft: &mut Draft<'_>) {
        let implementation = implementation(self);
        let slots = slots(self, draft);
        for index in both(draft).map(|rjob| rjob.index).collect::<Vec<_>>() {
            mount_keys(draft, index, ssh_path(self));
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
        let hosts = hosts(self, draft);
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

/// Returns the MPI of the runtime. The rules of the runtime refuse any that is not known.
fn implementation(policy: &MpiPolicy) -> &'static Implementation {
    let [default, ..] = IMPLEMENTATIONS;
    let named = policy.mpi_implementation.as_deref().unwrap_or_default();
    let known = IMPLEMENTATIONS.into_iter().find(|known| known.name == named);
    known.unwrap_or(default)
}

fn launcher_is_node(policy: &MpiPolicy) -> bool {
    policy.run_launcher_as_node.unwrap_or(false)
}

fn ssh_path(policy: &MpiPolicy) -> &str {
    let path = policy.ssh_auth_mount_path.as_deref();
    path.filter(|path| !path.is_empty())
        .unwrap_or(names::MPI_SSH_PATH)
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
fn slots(policy: &MpiPolicy, draft: &Draft<'_>) -> i64 {
    if let Some(number) = draft.job.num_proc_per_node() {
        return number;
    }
    let stated = policy.num_proc_per_node.unwrap_or(1);
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
fn hosts(policy: &MpiPolicy, draft: &Draft<'_>) -> Option<String> {
    let (implementation, slots) = (implementation(policy), slots(policy, draft));
    let is_host = |rjob: &&ReplicatedJob| rjob.name == names::NODE || launcher_is_node(policy);
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
fn hostfile_fits(policy: &MpiPolicy, draft: &Draft<'_>, problems: &mut Problems) {
    if hosts(policy, draft).is_none() {
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

fn mount_keys(draft: &mut Draft<'_>, index: usize, path: &str) {
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
    let mount = json!({"name": names::MPI_SSH_VOLUME, "mountPath": path});
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
