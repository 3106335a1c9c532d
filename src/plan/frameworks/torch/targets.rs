//! The further containers that get the environment of torchrun: `envInjection.targets`.

use crate::api::runtime::TorchPolicy;
use crate::k8s::problem::{Problem, Problems};
use crate::k8s::suggest;
use crate::plan::draft::{ContainerId, Draft};
use crate::plan::resolve::RUNTIME_REF;

/// Finds the containers, and refuses targets that the runtime does not have.
pub(super) fn find(policy: &TorchPolicy, draft: &Draft<'_>, problems: &mut Problems) -> Vec<ContainerId> {
    let mut found = Vec::new();
    for (job, container) in targets(policy) {
        match target(draft, job, container) {
            Ok(target) => found.push(target),
            Err(lacks) => {
                let message = format!("the runtime's mlPolicy.torch.envInjection names {lacks}");
                problems.push(Problem::invalid(RUNTIME_REF, message));
            }
        }
    }
    found
}

/// Lists replicated job and container of each target.
fn targets(policy: &TorchPolicy) -> impl Iterator<Item = (&str, &str)> {
    let injection = policy.env_injection.as_ref();
    let targets = injection.and_then(|injection| injection.targets.as_deref());
    targets.unwrap_or_default().iter().flat_map(|target| {
        let containers = target.container_names.iter();
        containers.map(|container| (target.job_name.as_str(), container.as_str()))
    })
}

/// Finds one target, or says what there is not.
fn target(draft: &Draft<'_>, job: &str, container: &str) -> Result<ContainerId, String> {
    let Some(rjob) = draft.rjob(job) else {
        let known = draft.rjobs.iter().map(|rjob| rjob.name.as_str());
        let hint = suggest::hint(job, known);
        return Err(format!("job {job:?}, which it does not have{hint}"));
    };
    draft.find_any(rjob.index, container).ok_or_else(|| {
        let hint = suggest::hint(container, draft.spec(rjob.index).any_container_names());
        format!("container {container:?}, which job {job:?} does not have{hint}")
    })
}
