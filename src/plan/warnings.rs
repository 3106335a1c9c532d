//! What the author of a job should know although the job runs.

use super::draft::Draft;
use super::framework::{Framework, Part, takers};
use crate::api::names;

/// Lists what the author should know.
pub(super) fn of(draft: &Draft<'_>, framework: &dyn Framework) -> Vec<String> {
    let mut found = Vec::new();
    if draft.runtime.deprecated() {
        found.push(format!(
            "{} {:?} is deprecated; see {}",
            draft.runtime.kind.name(),
            draft.runtime.name(),
            names::DEPRECATION_POLICY_URL
        ));
    }
    if draft.rjobs.is_empty() {
        found.push("the runtime has no replicated jobs: nothing will run".to_owned());
    }
    if draft.job.num_nodes() == Some(0) {
        found.push("spec.trainer.numNodes is 0: no training pod will run".to_owned());
    }
    found.extend(without_effect(draft, framework));
    found
}

/// Lists the fields of `spec.trainer` that are set and have no effect.
fn without_effect(draft: &Draft<'_>, framework: &dyn Framework) -> Vec<String> {
    let Some(trainer) = &draft.job.spec.trainer else {
        return Vec::new();
    };
    let no_trainer = format!(
        "the runtime labels no job {}={}",
        names::ANCESTOR_LABEL,
        names::TRAINER
    );
    let trains = draft.trainer().is_some();
    let taken = |part| !takers(draft, framework, part).is_empty();
    let no_resources = if trains && draft.runtime.spec.ml_policy.is_none() {
        "the runtime has no mlPolicy"
    } else {
        &no_trainer
    };
    let one_process = "the runtime's framework starts one process on each node";
    // Each field with whether it is set, whether it has an effect, and why not.
    let fields = [
        ("image", trainer.image.is_some(), taken(Part::Image), &*no_trainer),
        (
            "command",
            trainer.command.is_some(),
            taken(Part::Command),
            &no_trainer,
        ),
        ("args", trainer.args.is_some(), taken(Part::Command), &no_trainer),
        (
            "env",
            !draft.job.trainer_env().is_empty(),
            taken(Part::Env),
            &no_trainer,
        ),
        ("numNodes", trainer.num_nodes.is_some(), trains, &no_trainer),
        (
            "resourcesPerNode",
            trainer.resources_per_node.is_some(),
            taken(Part::Resources),
            no_resources,
        ),
        (
            "numProcPerNode",
            trainer.num_proc_per_node.is_some(),
            framework.takes_processes(),
            one_process,
        ),
    ];
    let ignored = fields.into_iter().filter(|(_, set, effect, _)| *set && !effect);
    ignored
        .map(|(field, _, _, why)| format!("spec.trainer.{field} has no effect: {why}"))
        .collect()
}
