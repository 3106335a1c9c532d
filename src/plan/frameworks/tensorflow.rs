//! TensorFlow: `TF_CONFIG`, by which each pod knows the cluster and its own task in it.
//!
//! Source of the rules: `tf.distribute.cluster_resolver.TFConfigClusterResolver`, and TFJob for what a job of roles means
//! as a whole: the evaluator is no part of the cluster, and the run ends with its chief.

use serde_json::{Value, json};

use crate::api::names;
use crate::api::runtime::TensorflowPolicy;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::env;
use crate::plan::framework::{Framework, Part};
use crate::plan::injection::{CheckedInjection, Injection, Success};
use crate::plan::inputs::Runtime;
use crate::plan::node_groups::{self, NodeGroup};
use crate::plan::nodes::Nodes;
use crate::plan::replicated_job::ReplicatedJobSpec;
use crate::plan::resolve::RUNTIME_REF;
use crate::plan::roles::Roles;

const CHIEF: &str = "chief";
const MASTER: &str = "master";
const WORKER: &str = "worker";
const PS: &str = "ps";
const EVALUATOR: &str = "evaluator";
/// Names of replicated jobs that are their role.
const NAMES: [(&str, &str); 5] = [
    (CHIEF, CHIEF),
    (MASTER, MASTER),
    (WORKER, WORKER),
    (PS, PS),
    (EVALUATOR, EVALUATOR),
];
/// Value of `successPolicy` that waits for all workers.
const ALL_WORKERS: &str = "AllWorkers";

/// The cluster, and the task of a pod in it.
const TF_CONFIG: &str = "TF_CONFIG";
/// Port of the servers where the runtime does not say.
const DEFAULT_PORT: i32 = 2222;

/// Name of the policy.
const NAME: &str = "tensorflow";

impl Framework for TensorflowPolicy {
    fn name(&self) -> &'static str {
        NAME
    }

    fn reserved_env(&self) -> &'static [&'static str] {
        &[TF_CONFIG, names::TRAINER_NODE_RANK]
    }

    fn settle_counts(&self, draft: &mut Draft<'_>) {
        roles(self).settle_counts(draft);
    }

    fn takes(&self, _draft: &Draft<'_>, rjob: &ReplicatedJob, part: Part) -> bool {
        match roles(self).of(rjob) {
            // One program plays all roles; a container of another name keeps its own.
            Some(PS | EVALUATOR) => part != Part::Resources,
            role => role.is_some(),
        }
    }

    fn is_node(&self, _draft: &Draft<'_>, rjob: &ReplicatedJob) -> bool {
        roles(self).of(rjob).is_some_and(|role| role != EVALUATOR)
    }

    fn check_runtime(&self, runtime: &Runtime, found: &mut Problems) {
        let roles = roles(self);
        roles.check_runtime(runtime, found);
        let mut leads = runtime
            .replicated_jobs()
            .filter(|rjob| matches!(roles.of_spec(*rjob), Some(CHIEF | MASTER)))
            .map(ReplicatedJobSpec::name);
        if let (Some(first), Some(second)) = (leads.next(), leads.next()) {
            let message = format!(
                "replicated jobs {first:?} and {second:?} both lead the cluster; keep one chief or master"
            );
            found.push(Problem::invalid(roles.field(), message));
        }
    }

    fn injection(&self, draft: &Draft<'_>) -> Result<CheckedInjection, Problems> {
        let mut problems = Nodes::find(draft, NAME).err().unwrap_or_default();
        let groups = roles(self).groups(draft, &mut problems);
        check_leads(&groups, &mut problems);
        let configs = groups.iter().map(|group| config(self, draft, &groups, group));
        let configs: Vec<String> = configs.collect();
        check_length(configs.iter().map(String::len).max(), &mut problems);
        let containers = groups.iter().zip(configs).map(|(group, config)| {
            let why = "the pods of all roles at mlPolicy.tensorflow.port, and the task of this one";
            let env = vec![env::value(TF_CONFIG, config, why)];
            group.injection(env, vec![port(self)])
        });
        let injection = Injection {
            containers: containers.collect(),
            success: success(self, draft, &groups),
            ..Injection::default()
        };
        injection.check(draft, self.name(), problems)
    }
}

/// Refuses a chief of several pods: a cluster has one.
fn check_leads(groups: &[NodeGroup], problems: &mut Problems) {
    let several = groups
        .iter()
        .filter(|group| leads(group) && group.rjob.pods() != 1);
    for NodeGroup { rjob, role, .. } in several {
        let message = format!(
            "the runtime's replicated job {:?} has {} pods; a cluster has one {role}, set its parallelism to 1",
            rjob.name,
            rjob.pods()
        );
        problems.push(Problem::invalid(RUNTIME_REF, message));
    }
}

fn check_length(longest: Option<usize>, problems: &mut Problems) {
    if let Some(length) = longest.filter(|length| *length > env::LONGEST) {
        let message = format!(
            "{TF_CONFIG} would have {length} bytes, and an environment variable may have {}; use fewer nodes or shorter \
             names, or a runtime with mlPolicy.tensorflow.enableDynamicWorker",
            env::LONGEST
        );
        problems.push(Problem::invalid("spec.trainer.numNodes", message));
    }
}

fn roles(policy: &TensorflowPolicy) -> Roles<'_> {
    let given = policy.roles.as_deref().unwrap_or_default().iter();
    Roles {
        policy: NAME,
        names: &NAMES,
        trainer: WORKER,
        given: given
            .map(|given| (given.replicated_job.as_str(), given.role.as_str()))
            .collect(),
    }
}

fn port(policy: &TensorflowPolicy) -> i32 {
    policy.port.unwrap_or(DEFAULT_PORT)
}

fn leads(group: &NodeGroup) -> bool {
    matches!(group.role.as_str(), CHIEF | MASTER)
}

/// Writes `TF_CONFIG` of the pods of one replicated job. It is JSON once the kubelet has put the index in.
fn config(policy: &TensorflowPolicy, draft: &Draft<'_>, groups: &[NodeGroup], group: &NodeGroup) -> String {
    let port = port(policy);
    let dynamic = policy.enable_dynamic_worker == Some(true);
    let index = format!("$({})", names::TRAINER_NODE_RANK);
    let own = || format!("{}:{port}", group.own_host(draft));
    let (key, cluster) = match group.role.as_str() {
        PS if dynamic => ("sparseCluster", json!({"worker": {}, "ps": [own()]})),
        WORKER if dynamic => {
            let servers = node_groups::addresses(draft, groups, PS, port);
            (
                "sparseCluster",
                json!({"worker": {(index.as_str()): own()}, "ps": servers}),
            )
        }
        _ => {
            let roles = [CHIEF, MASTER, WORKER, PS].into_iter();
            let cluster = roles
                .filter(|role| groups.iter().any(|group| group.role == *role))
                .map(|role| {
                    (
                        role.to_owned(),
                        node_groups::addresses(draft, groups, role, port).into(),
                    )
                })
                .collect();
            ("cluster", Value::Object(cluster))
        }
    };
    let role = &group.role;
    format!(r#"{{"{key}":{cluster},"task":{{"type":"{role}","index":{index}}},"environment":"cloud"}}"#)
}

/// Lets the run end as TFJob's does, unless the runtime's template says when it ends.
fn success(policy: &TensorflowPolicy, draft: &Draft<'_>, groups: &[NodeGroup]) -> Vec<Success> {
    if node_groups::has_success_policy(draft) {
        return Vec::new();
    }
    let of = |role: fn(&NodeGroup) -> bool| groups.iter().filter(move |group| role(group));
    let workers = || of(|group| group.role == WORKER);
    let all = policy.success_policy.as_deref() == Some(ALL_WORKERS);
    let deciding: Vec<&NodeGroup> = match of(leads).next() {
        Some(chief) if !all => vec![chief],
        Some(chief) => std::iter::once(chief).chain(workers()).collect(),
        None => workers().collect(),
    };
    let mut found = Vec::new();
    if !all
        && let [worker] = deciding.as_slice()
        && worker.role == WORKER
        && worker.rjob.pods() > 1
    {
        let why = "the run ends well when worker 0 does, as a TFJob's; mlPolicy.tensorflow.successPolicy";
        found.push(Success::FirstPod(worker.rjob.index, why));
    }
    let why = "the run ends well when these do, as a TFJob's; mlPolicy.tensorflow.successPolicy";
    found.extend(node_groups::success(draft, &deciding, why));
    found
}
