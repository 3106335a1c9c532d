//! Judges a runtime of either kind.

use super::Verdict;
use crate::api::names;
use crate::plan::{Problem, Runtime, runtime_rules};

/// A runtime that is created or changed; both are judged alike.
#[derive(Clone, Copy, Debug)]
pub struct RuntimeRequest<'a> {
    /// The runtime as it would be stored.
    pub runtime: &'a Runtime,
}

/// Judges a runtime. One that is being deleted, or that carries the label which switches this off, passes; its rules
/// are checked again for each job that names it.
pub fn runtime(request: RuntimeRequest<'_>) -> Verdict {
    let runtime = request.runtime;
    if runtime.metadata.deletion_timestamp.is_some()
        || runtime.label(names::WEBHOOK_VALIDATION_LABEL) == Some("disabled")
    {
        return Verdict::default();
    }
    let mut verdict = Verdict {
        warnings: runtime_rules::warnings(runtime),
        ..Verdict::default()
    };
    verdict.problems.extend(
        runtime_rules::check(runtime)
            .into_iter()
            .map(|(field, message)| Problem::invalid(field, message)),
    );
    verdict
}
