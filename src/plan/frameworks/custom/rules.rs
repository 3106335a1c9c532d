//! What `mlPolicy.custom` must be like, whatever the job.

use serde_json::Value;

use super::host_list;
use super::names::{self, ALWAYS, suffix};
use crate::api::raw::Raw;
use crate::api::runtime::{CustomPolicy, HostList};
use crate::k8s::json as k8s_json;
use crate::k8s::path::FieldPath;
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::suggest;
use crate::plan::inputs::Runtime;
use crate::plan::replicated_job::{REPLICATED_JOBS, ReplicatedJobSpec};
use crate::plan::{env, named_jobs};

pub(super) fn check(runtime: &Runtime, policy: &CustomPolicy, found: &mut Problems) {
    let path = FieldPath::new("spec.mlPolicy.custom");
    let roles = policy.roles.as_deref().unwrap_or_default();
    let is_node = |rjob: &ReplicatedJobSpec<'_>| {
        rjob.trains() || roles.iter().any(|role| role.replicated_job == rjob.name())
    };
    let nodes: Vec<_> = runtime.replicated_jobs().filter(is_node).collect();
    let known = variables(&nodes);

    let list = path.field("roles");
    let named = roles.iter().map(|role| role.replicated_job.as_str());
    named_jobs::check(runtime, named, &list, "replicatedJob", found);
    check_env(policy.env.as_deref(), &path.field("env"), &known, found);
    for (at, role) in roles.iter().enumerate() {
        check_env(role.env.as_deref(), &list.index(at).field("env"), &known, found);
        let named = nodes.iter().find(|rjob| rjob.name() == role.replicated_job);
        let Some(rjob) = named.filter(|rjob| rjob.program(role.container.as_deref()).is_none()) else {
            continue;
        };
        let known: Vec<&str> = rjob.container_names().collect();
        let message = match &role.container {
            Some(wanted) => format!(
                "replicated job {:?} has no container {wanted:?}{}",
                role.replicated_job,
                suggest::hint(wanted, known.into_iter())
            ),
            None => format!(
                "replicated job {:?} has several containers; name one of {}",
                role.replicated_job,
                suggest::list(&known).unwrap_or_default()
            ),
        };
        found.push(Problem::invalid(list.index(at).field("container"), message));
    }
    check_words(&nodes, &known, found);
    if let Some(file) = &policy.host_list {
        check_host_list(runtime, file, &nodes, policy, &path.field("hostList"), found);
    }
}

/// Lists the variables that something may refer to.
fn variables(nodes: &[ReplicatedJobSpec<'_>]) -> Vec<String> {
    let each = nodes.iter().flat_map(|rjob| {
        [names::HOSTS, names::NUM_NODES].map(|name| format!("{name}{}", suffix(rjob.name())))
    });
    let fixed = ALWAYS.into_iter().chain([names::HOSTS]).map(str::to_owned);
    fixed.chain(each).collect()
}

/// Tells of a reference to a variable that would be one of ours, and is not.
fn undefined(text: &str, known: &[String]) -> Option<String> {
    let wrong = env::references(text)
        .into_iter()
        .find(|name| name.starts_with(names::PREFIX) && !known.iter().any(|k| k == name))?;
    let hint = suggest::hint(wrong, known.iter().map(String::as_str));
    Some(format!("$({wrong}) is no variable that a node gets{hint}"))
}

fn check_env<T>(env: Option<&[Raw<T>]>, path: &FieldPath, known: &[String], found: &mut Problems) {
    let mut seen = Vec::new();
    for (at, entry) in env.unwrap_or_default().iter().map(Raw::value).enumerate() {
        let name = k8s_json::name(entry).unwrap_or_default();
        let path = path.index(at);
        if name.starts_with(names::PREFIX) {
            let message = format!(
                "{name:?}: names that start with {} are set by the framework; use another name, and refer to them as \
                 $(NAME)",
                names::PREFIX
            );
            found.push(Problem::invalid(path.field("name"), message));
        }
        if seen.contains(&name) {
            found.push(Problem::invalid(
                path.field("name"),
                format!("{name:?} is there twice; keep one of the two"),
            ));
        }
        seen.push(name);
        if let Some(message) = k8s_json::text(entry, &["value"]).and_then(|value| undefined(value, known)) {
            found.push(Problem::invalid(path.field("value"), message));
        }
    }
}

/// Checks commands, arguments and variables that the template's containers have themselves.
fn check_words(nodes: &[ReplicatedJobSpec<'_>], known: &[String], found: &mut Problems) {
    for rjob in nodes {
        for container in rjob.containers() {
            let words = ["command", "args"]
                .into_iter()
                .flat_map(|list| k8s_json::list(container, &[list]));
            let values = k8s_json::list(container, &["env"])
                .iter()
                .filter_map(|entry| entry.get("value"));
            let wrong = words
                .chain(values)
                .filter_map(Value::as_str)
                .find_map(|text| undefined(text, known));
            if let Some(message) = wrong {
                let message = format!(
                    "container {:?} of replicated job {:?}: {message}",
                    k8s_json::name(container).unwrap_or_default(),
                    rjob.name()
                );
                found.push(Problem::invalid(FieldPath::new(REPLICATED_JOBS), message));
            }
        }
    }
}

fn check_host_list(
    runtime: &Runtime,
    file: &HostList,
    nodes: &[ReplicatedJobSpec<'_>],
    policy: &CustomPolicy,
    path: &FieldPath,
    found: &mut Problems,
) {
    let listed = file.replicated_jobs.as_deref().unwrap_or_default();
    named_jobs::check(
        runtime,
        listed.iter().map(String::as_str),
        &path.field("replicatedJobs"),
        "",
        found,
    );
    if !file.path.starts_with('/') || file.path.ends_with('/') || file.path.contains(':') {
        let message = format!(
            "{:?} is no absolute path of a file; write one such as /etc/nodes/hosts",
            file.path
        );
        found.push(Problem::invalid(path.field("path"), message));
    }
    let line = file.line.as_deref().unwrap_or_default();
    let is_known = |name: &&str| host_list::VARIABLES.contains(name);
    if let Some(wrong) = env::references(line).into_iter().find(|name| !is_known(name)) {
        let hint = suggest::hint(wrong, host_list::VARIABLES.into_iter());
        found.push(Problem::invalid(
            path.field("line"),
            format!("$({wrong}) is not known in a line{hint}"),
        ));
    }
    for rjob in nodes {
        let name = rjob.name();
        let roles = policy.roles.as_deref().unwrap_or_default();
        let wanted = roles.iter().find(|role| role.replicated_job == name);
        let container = rjob.program(wanted.and_then(|role| role.container.as_deref()));
        if let Some(what) = host_list::clash(*rjob, container, file) {
            found.push(Problem::invalid(
                path.clone(),
                format!("replicated job {name:?} {what}"),
            ));
        }
    }
}
