//! MPI: a launcher that starts processes on workers over SSH.
//!
//! The two are replicated jobs named `launcher` and `node`, whatever their labels. The controller makes a key pair and a
//! hostfile; with `runLauncherAsNode` the launcher computes too.

mod files;
mod implementation;
mod policy;
mod warnings;

use crate::api::names::NODE;
use crate::api::runtime::MpiPolicy;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::counts;
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::framework::{Framework, Part};
use crate::plan::injection::{CheckedInjection, ContainerInjection, Injection, PodInjection};
use crate::plan::inputs::Runtime;
use crate::plan::resolve::RUNTIME_REF;
use implementation::IMPLEMENTATIONS;
use policy::{LAUNCHER, implementation, launcher_is_node, ssh_path};

impl Framework for MpiPolicy {
    fn name(&self) -> &'static str {
        "mpi"
    }

    fn reserved_env(&self) -> &'static [&'static str] {
        implementation(self).reserved
    }

    fn takes_processes(&self) -> bool {
        true
    }

    /// The launcher is one pod. The rest of the nodes are workers.
    fn settle_counts(&self, draft: &mut Draft<'_>) {
        counts::settle(draft);
        let (workers, why) = workers_wanted(self, draft);
        for rjob in &mut draft.rjobs {
            (rjob.count, rjob.count_why) = match rjob.name.as_str() {
                NODE => (workers, why),
                LAUNCHER => (1, "a launcher is one pod"),
                _ => continue,
            };
        }
    }

    /// Image and environment go to the pods that compute and to the launcher, command and arguments to the launcher, and
    /// resources to those that compute: a launcher that is no node holds no accelerator.
    fn takes(&self, draft: &Draft<'_>, rjob: &ReplicatedJob, part: Part) -> bool {
        let labelled = rjob.trains();
        match (rjob.name.as_str(), part) {
            (NODE, Part::Command) => false,
            (NODE, Part::Env | Part::Resources) | (LAUNCHER, Part::Env) => true,
            (LAUNCHER, Part::Resources) => launcher_is_node(self) || draft.rjob(NODE).is_none(),
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
        match draft.job.num_nodes().filter(|_| rjob.name == NODE) {
            Some(wanted) if launcher_is_node(self) => (wanted - 1).max(1),
            Some(wanted) => wanted,
            None => counts::of_runtime(draft, rjob),
        }
    }

    fn upstream_takes_resources(&self, rjob: &ReplicatedJob) -> bool {
        rjob.trains() || launcher_is_node(self) && rjob.name == NODE
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

    fn injection(&self, draft: &Draft<'_>) -> Result<CheckedInjection, Problems> {
        let mut problems = check_pods(self, draft);
        let slots = slots(self, draft);
        let mut injection = Injection {
            secrets: vec![files::keys(draft)],
            ..Injection::default()
        };
        match files::hostfile(self, draft, slots) {
            Ok(hostfile) => injection.config_maps.push(hostfile),
            Err(problem) => problems.push(problem),
        }
        for rjob in draft.rjobs.iter().filter(|rjob| has_part(rjob)) {
            let mut pod = PodInjection::default();
            let mut container = ContainerInjection::default();
            pod.volumes
                .push((files::keys_volume(draft), "the SSH keys of the job"));
            container.mounts.push(files::keys_mount(ssh_path(self)));
            if rjob.name == LAUNCHER {
                pod.volumes
                    .push((files::hostfile_volume(draft), "the hosts of the job"));
                container.mounts.push(files::hostfile_mount());
                container.env = (implementation(self).env)(slots);
            }
            injection.pods.push((rjob.index, pod));
            // A container of another name is left alone.
            let program = draft.find(rjob.index, NODE);
            injection.containers.extend(program.map(|at| (at, container)));
        }
        injection.check(draft, self.name(), problems)
    }
}

/// Works out the number of workers, and where it comes from: the nodes that the job or the policy asks for, without a
/// launcher that is one of them, else the runtime's parallelism.
fn workers_wanted(policy: &MpiPolicy, draft: &Draft<'_>) -> (i64, &'static str) {
    let launcher_is_node = launcher_is_node(policy);
    let of_policy = draft.runtime.spec.ml_policy.as_ref().and_then(|ml| ml.num_nodes);
    let of_policy = of_policy.map(i64::from).filter(|nodes| *nodes > 1);
    let workers = draft.rjob(NODE);
    let stated = workers.and_then(|rjob| draft.runtime_spec(rjob.index).parallelism());
    match (draft.job.num_nodes(), of_policy, stated) {
        (Some(nodes), _, _) if launcher_is_node => (
            (nodes - 1).max(0),
            "spec.trainer.numNodes, of which the launcher is one",
        ),
        (Some(nodes), _, _) => (nodes.max(0), counts::FROM_JOB),
        (None, Some(nodes), _) if launcher_is_node => (
            nodes - 1,
            "the runtime's mlPolicy.numNodes, of which the launcher is one",
        ),
        (None, Some(nodes), _) => (nodes, counts::FROM_POLICY),
        (None, None, Some(stated)) => (stated.max(1), "the runtime's parallelism, completions follow it"),
        (None, None, None) if launcher_is_node => (0, "one node, which is the launcher"),
        (None, None, None) => (1, "one node"),
    }
}

/// Reports whether a replicated job takes part in MPI.
fn has_part(rjob: &ReplicatedJob) -> bool {
    [NODE, LAUNCHER].contains(&rjob.name.as_str())
}

/// Refuses runtimes without the pods that are needed.
fn check_pods(policy: &MpiPolicy, draft: &Draft<'_>) -> Problems {
    let mut problems = Problems::default();
    let mut missing = vec![LAUNCHER, NODE];
    missing.retain(|name| draft.rjob(name).is_none());
    let several_nodes = draft.job.num_nodes().is_some_and(|nodes| nodes > 1);
    if launcher_is_node(policy) && several_nodes && !missing.is_empty() {
        let message = format!(
            "several nodes with a launcher that is one of them need the replicated jobs {LAUNCHER:?} and {NODE:?}; the \
             runtime has no {}",
            missing.join(" and no ")
        );
        problems.push(Problem::invalid("spec.trainer.numNodes", message));
    }
    if missing.len() == 2 && draft.trainer().is_none() {
        let message = format!(
            "the runtime's mlPolicy.mpi works on replicated jobs named {LAUNCHER:?} and {NODE:?}, and the runtime has \
             neither"
        );
        problems.push(Problem::invalid(RUNTIME_REF, message));
    }
    problems
}

/// Finds the pods whose resources are a node's.
fn workers<'d>(draft: &'d Draft<'_>) -> Option<&'d ReplicatedJob> {
    let workers = draft.rjob(NODE).filter(|rjob| rjob.count > 0);
    workers.or_else(|| draft.rjob(LAUNCHER))
}

/// Works out how many processes a node takes.
fn slots(policy: &MpiPolicy, draft: &Draft<'_>) -> i64 {
    let stated = policy.num_proc_per_node.filter(|number| *number != 1);
    let devices = || {
        let node = draft.rjob(NODE).or_else(|| draft.rjob(LAUNCHER))?;
        draft.devices(draft.find(node.index, NODE)?).processes()
    };
    let asked = draft.job.num_proc_per_node();
    asked.or(stated.map(i64::from)).or_else(devices).unwrap_or(1)
}
