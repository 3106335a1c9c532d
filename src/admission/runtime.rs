//! Admission of runtimes, of both kinds.

use super::Verdict;
use crate::api::names;
use crate::plan::{Runtime, runtime_rules};

/// Checks a runtime that is created or updated.
///
/// A runtime passes unchecked if it is being deleted, or if its label disables the check. Its rules are checked again for
/// each job that names it.
pub fn runtime(runtime: &Runtime) -> Verdict {
    if runtime.metadata.deletion_timestamp.is_some()
        || runtime.label(names::WEBHOOK_VALIDATION_LABEL) == Some("disabled")
    {
        return Verdict::default();
    }
    Verdict {
        problems: runtime_rules::check(runtime),
        warnings: runtime_rules::warnings(runtime),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::RuntimeKind;

    fn verdict(labels: serde_json::Value) -> Verdict {
        runtime(&Runtime {
            kind: RuntimeKind::Namespaced,
            metadata: serde_json::from_value(json!({"name": "r", "labels": labels})).unwrap(),
            spec: serde_json::from_value(json!({"mlPolicy": {"numNodes": -1}})).unwrap(),
        })
    }

    #[test]
    fn a_runtime_is_checked_unless_its_label_disables_that() {
        assert!(!verdict(json!({})).allowed());
        assert!(verdict(json!({"trainer.kubeflow.org/webhook-validation": "disabled"})).allowed());
        assert!(!verdict(json!({"trainer.kubeflow.org/webhook-validation": "enabled"})).allowed());
    }

    #[test]
    fn a_deprecated_runtime_of_either_kind_gets_a_warning() {
        let verdict = verdict(json!({"trainer.kubeflow.org/support": "deprecated"}));
        assert!(verdict.warnings[0].contains("deprecated"), "{verdict:?}");
    }
}
