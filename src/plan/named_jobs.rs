//! Rules for policies that name replicated jobs of their runtime, whatever the framework.

use super::Runtime;
use super::replicated_job::{CONTAINERS_FIELD, REPLICATED_JOBS, ReplicatedJobSpec};
use crate::api::names;
use crate::k8s::path::FieldPath;
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::suggest;

/// Refuses names of replicated jobs, in a list of a framework's policy, that the runtime does not have, and names that
/// are listed twice. `field` is the member of an item that holds the name; empty where the item is the name.
pub(super) fn check<'r>(
    runtime: &Runtime,
    named: impl Iterator<Item = &'r str>,
    list: &FieldPath,
    field: &str,
    found: &mut Problems,
) {
    let known = || runtime.replicated_jobs().map(ReplicatedJobSpec::name);
    let mut seen = Vec::new();
    for (index, name) in named.enumerate() {
        let path = list.index(index);
        let path = if field.is_empty() { path } else { path.field(field) };
        if seen.contains(&name) {
            found.push(Problem::invalid(
                path,
                format!("{name:?} is there twice; keep one of the two"),
            ));
        } else if !known().any(|known| known == name) {
            let hint = suggest::hint(name, known());
            found.push(Problem::invalid(
                path,
                format!("the runtime has no replicated job {name:?}{hint}"),
            ));
        }
        seen.push(name);
    }
}

/// Refuses replicated jobs that have a role, but no container that is known to run its program.
pub(super) fn check_programs(
    runtime: &Runtime,
    has_role: impl Fn(ReplicatedJobSpec<'_>) -> bool,
    found: &mut Problems,
) {
    for (index, rjob) in runtime.replicated_jobs().enumerate() {
        // One that trains needs a container `node` anyway.
        if rjob.trains() || !has_role(rjob) || rjob.program(None).is_some() {
            continue;
        }
        found.push(Problem::invalid(
            FieldPath::new(REPLICATED_JOBS).index(index).field(CONTAINERS_FIELD),
            format!(
                "replicated job {:?} has a role in the framework, and it cannot be told which of its containers plays \
                 it; name that one {:?}",
                rjob.name(),
                names::NODE
            ),
        ));
    }
}
