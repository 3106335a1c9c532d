//! TensorFlow: `TF_CONFIG`, by which each pod knows the cluster and its own task in it.
//!
//! Source of the rules: `tf.distribute.cluster_resolver.TFConfigClusterResolver`, and TFJob for what a job of roles means
//! as a whole: the evaluator is no part of the cluster, and the run ends with its chief.

use serde_json::{Value, json};

use super::{Framework, Part};
use crate::api::names;
use crate::api::runtime::TensorflowPolicy;
use crate::k8s::path::FieldPath;
use crate::k8s::problem::{Problem, Problems};
use crate::plan::draft::{Draft, ReplicatedJob};
use crate::plan::replicated_job::ReplicatedJobSpec;
use crate::plan::resolve::RUNTIME_REF;
use crate::plan::roles::{self, Member, Naming};
use crate::plan::{Runtime, counts, env, named_jobs, replicated_job};

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

/// TensorFlow.
pub(super) struct Tensorflow;

impl Framework for Tensorflow {
    fn name(&self) -> &'static str {
        "tensorflow"
    }

    fn reserved_env(&self, _draft: &Draft<'_>) -> &'static [&'static str] {
        &[names::TF_CONFIG, names::TRAINER_NODE_RANK]
    }

    fn settle_counts(&self, draft: &mut Draft<'_>) {
        let workers = draft
            .rjobs
            .iter()
            .filter(|rjob| naming(draft.runtime).of(rjob) == Some(WORKER));
        let nodes = workers
            .min_by_key(|rjob| (!rjob.trains(), rjob.index))
            .map(|rjob| rjob.index);
        counts::settle_nodes(draft, nodes);
    }

    fn takes(&self, draft: &Draft<'_>, rjob: &ReplicatedJob, part: Part) -> bool {
        match naming(draft.runtime).of(rjob) {
            // One program plays all roles; a container of another name keeps its own.
            Some(PS | EVALUATOR) => part != Part::Resources,
            role => role.is_some(),
        }
    }

    fn is_node(&self, draft: &Draft<'_>, rjob: &ReplicatedJob) -> bool {
        naming(draft.runtime)
            .of(rjob)
            .is_some_and(|role| role != EVALUATOR)
    }

    fn check_runtime(&self, runtime: &Runtime, found: &mut Problems) {
        let path = FieldPath::new("spec.mlPolicy.tensorflow.roles");
        named_jobs::check(
            runtime,
            naming(runtime).given.iter().map(|(job, _)| *job),
            &path,
            "replicatedJob",
            found,
        );
        named_jobs::check_programs(
            runtime,
            |rjob| naming(runtime).role(rjob.name(), rjob.trains()).is_some(),
            found,
        );
        let mut leads = runtime
            .replicated_jobs()
            .filter(|rjob| {
                matches!(
                    naming(runtime).role(rjob.name(), rjob.trains()),
                    Some(CHIEF | MASTER)
                )
            })
            .map(ReplicatedJobSpec::name);
        if let (Some(first), Some(second)) = (leads.next(), leads.next()) {
            let message = format!(
                "replicated jobs {first:?} and {second:?} both lead the cluster; keep one chief or master"
            );
            found.push(Problem::invalid(path, message));
        }
    }

    fn check(&self, draft: &Draft<'_>, problems: &mut Problems) {
        let members = naming(draft.runtime).members(draft);
        let port = port(draft);
        roles::check(draft, "tensorflow", &members, |_| vec![port], problems);
        for Member { rjob, role, .. } in members.iter().filter(|member| leads(member)) {
            if rjob.pods() != 1 {
                let message = format!(
                    "the runtime's replicated job {:?} has {} pods; a cluster has one {role}, set its parallelism to 1",
                    rjob.name,
                    rjob.pods()
                );
                problems.push(Problem::invalid(RUNTIME_REF, message));
            }
        }
        let longest = members
            .iter()
            .map(|member| config(draft, &members, member).len())
            .max();
        if let Some(length) = longest.filter(|length| *length > env::LONGEST) {
            let message = format!(
                "{} would have {length} bytes, and an environment variable may have {}; use fewer nodes or shorter \
                 names, or a runtime with mlPolicy.tensorflow.enableDynamicWorker",
                names::TF_CONFIG,
                env::LONGEST
            );
            problems.push(Problem::invalid("spec.trainer.numNodes", message));
        }
    }

    fn inject(&self, draft: &mut Draft<'_>) {
        let members = naming(draft.runtime).members(draft);
        let port = port(draft);
        for member in &members {
            let entries = [env::value(names::TF_CONFIG, config(draft, &members, member))];
            draft.because_env(
                names::TF_CONFIG,
                "the pods of all roles at mlPolicy.tensorflow.port, and the task of this one",
            );
            roles::put(draft, member, &entries, [port]);
        }
        succeed(draft, &members);
    }
}

fn policy(runtime: &Runtime) -> Option<&TensorflowPolicy> {
    runtime.spec.ml_policy.as_ref()?.tensorflow.as_ref()
}

fn naming(runtime: &Runtime) -> Naming<'_> {
    let roles = policy(runtime).and_then(|policy| policy.roles.as_deref());
    let given = roles.unwrap_or_default().iter();
    Naming {
        names: &NAMES,
        trainer: WORKER,
        given: given
            .map(|given| (given.replicated_job.as_str(), given.role.as_str()))
            .collect(),
    }
}

fn port(draft: &Draft<'_>) -> i32 {
    policy(draft.runtime)
        .and_then(|policy| policy.port)
        .unwrap_or(names::TENSORFLOW_PORT)
}

fn leads(member: &Member) -> bool {
    matches!(member.role.as_str(), CHIEF | MASTER)
}

/// Writes `TF_CONFIG` of the pods of one replicated job. It is JSON once the kubelet has put the index in.
fn config(draft: &Draft<'_>, members: &[Member], member: &Member) -> String {
    let port = port(draft);
    let dynamic = policy(draft.runtime).and_then(|policy| policy.enable_dynamic_worker) == Some(true);
    let index = format!("$({})", names::TRAINER_NODE_RANK);
    let own = || format!("{}:{port}", member.own_host(draft));
    let (key, cluster) = match member.role.as_str() {
        PS if dynamic => ("sparseCluster", json!({"worker": {}, "ps": [own()]})),
        WORKER if dynamic => {
            let servers = roles::addresses(draft, members, PS, port);
            (
                "sparseCluster",
                json!({"worker": {(index.as_str()): own()}, "ps": servers}),
            )
        }
        _ => {
            let roles = [CHIEF, MASTER, WORKER, PS].into_iter();
            let cluster = roles
                .filter(|role| members.iter().any(|member| member.role == *role))
                .map(|role| {
                    (
                        role.to_owned(),
                        roles::addresses(draft, members, role, port).into(),
                    )
                })
                .collect();
            ("cluster", Value::Object(cluster))
        }
    };
    let role = &member.role;
    format!(r#"{{"{key}":{cluster},"task":{{"type":"{role}","index":{index}}},"environment":"cloud"}}"#)
}

/// Lets the run end as TFJob's does, unless the runtime's template says when it ends.
fn succeed(draft: &mut Draft<'_>, members: &[Member]) {
    let of = |role: fn(&Member) -> bool| members.iter().filter(move |member| role(member));
    let workers = || of(|member| member.role == WORKER);
    let all = policy(draft.runtime).and_then(|policy| policy.success_policy.as_deref()) == Some(ALL_WORKERS);
    let deciding: Vec<&Member> = match of(leads).next() {
        Some(chief) if !all => vec![chief],
        Some(chief) => std::iter::once(chief).chain(workers()).collect(),
        None => workers().collect(),
    };
    if roles::has_success_policy(draft) {
        return;
    }
    if !all
        && let [worker] = deciding.as_slice()
        && worker.role == WORKER
        && worker.rjob.pods() > 1
    {
        draft.because("successPolicy.rules", || {
            "the run ends well when worker 0 does, as a TFJob's; mlPolicy.tensorflow.successPolicy".to_owned()
        });
        if let Some(job) = draft.replicated_job_mut(worker.rjob.index) {
            let spec = replicated_job::job_spec_mut(job);
            // In Kubernetes the policy needs this mode; JobSet sets it too where it is not given.
            spec.entry("completionMode").or_insert_with(|| json!("Indexed"));
            spec.entry("successPolicy")
                .or_insert_with(|| json!({"rules": [{"succeededIndexes": "0"}]}));
        }
    }
    let why = "the run ends well when these do, as a TFJob's; mlPolicy.tensorflow.successPolicy";
    roles::succeed_with(draft, &deciding, why);
}
