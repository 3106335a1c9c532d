//! From the runtime's template to a job that can be built, or to all that is wrong with it.
//!
//! Every check is here or is called from here. What comes out holds what was settled, so that building it can neither fail
//! nor leave anything out.

use super::draft::Draft;
use super::framework::Framework;
use super::gang::{self, CheckedGang};
use super::injection::CheckedInjection;
use super::inputs::{ClusterFacts, Observed};
use super::trace::Stage;
use super::{
    check, counts, frameworks, gang_schedulers, kueue, overrides, patches, resources, runtime_rules, warnings,
};
use crate::k8s::problem::Problems;

/// A job that can be built.
pub(super) struct Settled<'a> {
    /// The JobSet with patches, counts, resources, and image and command of the job.
    pub(super) draft: Draft<'a>,
    pub(super) framework: &'a dyn Framework,
    /// What the framework puts into the pods.
    pub(super) injection: CheckedInjection,
    /// The pods that are placed together.
    pub(super) gang: Option<CheckedGang<'a>>,
}

/// Settles a job, or finds all that is wrong with it.
pub(super) fn settle<'a>(
    mut draft: Draft<'a>,
    observed: &Observed,
    facts: &ClusterFacts,
) -> Result<Settled<'a>, Problems> {
    let framework = frameworks::of(draft.runtime);
    let mut problems = Problems::default();

    // What the job may ask for, by the runtime as it is written.
    patches::check(&draft, &mut problems);
    check::runtime(&draft, runtime_rules::check(draft.runtime), &mut problems);
    check::job(&draft, framework, &mut problems);
    if problems.is_empty() {
        patches::apply(&mut draft);
        let found = warnings::of(&draft, framework);
        draft.warnings.extend(found);
    }

    // Nothing may be sized by counts that are not bounded.
    framework.settle_counts(&mut draft);
    if !check::counts_are_bounded(&draft, &mut problems) {
        return Err(problems);
    }
    override_containers(&mut draft, framework);

    // What depends on the pods as they will be.
    let injection = problems.collect(framework.injection(&draft));
    let policy = draft.runtime.spec.pod_group_policy.as_ref();
    let gang = gang_schedulers::of(policy)
        .map(|scheduler| gang::check(&draft, scheduler, framework, facts))
        .transpose();
    let gang = problems.collect(gang);
    match &observed.jobset {
        Some(jobset) => check::jobset_is_ours(draft.job, jobset, &mut problems),
        None => check::names_fit(&draft, &mut problems),
    }

    let (Some(injection), Some(gang), true) = (injection, gang, problems.is_empty()) else {
        return Err(problems);
    };
    let found = kueue::warnings(&draft, framework);
    draft.warnings.extend(found);
    Ok(Settled {
        draft,
        framework,
        injection,
        gang,
    })
}

/// Writes what the job sets into the containers: counts, resources, image, command and arguments.
fn override_containers(draft: &mut Draft<'_>, framework: &dyn Framework) {
    draft.stage(&Stage::Counts, |draft| counts::write(draft));
    draft.stage(&Stage::Resources, |draft| resources::merge(draft, framework));
    draft.stage(&Stage::Initializer, overrides::initializer);
    draft.stage(&Stage::Trainer, |draft| overrides::program(draft, framework));
}
