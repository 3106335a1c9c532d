//! Judges a runtime of either kind.

use super::Verdict;
use crate::api::names;
use crate::plan::{Runtime, runtime_rules};

/// Judges a runtime that is created or changed; both are judged alike.
///
/// One that is being deleted, or that carries the label which switches this off, passes; its rules are checked again
/// for each job that names it.
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

    fn judged(labels: serde_json::Value) -> Verdict {
        runtime(&Runtime {
            kind: RuntimeKind::Namespaced,
            metadata: serde_json::from_value(json!({"name": "r", "labels": labels})).unwrap(),
            spec: serde_json::from_value(json!({"mlPolicy": {"numNodes": -1}})).unwrap(),
        })
    }

    #[test]
    fn a_runtime_is_judged_by_its_rules_unless_its_label_says_no() {
        assert!(!judged(json!({})).allowed());
        assert!(judged(json!({"trainer.kubeflow.org/webhook-validation": "disabled"})).allowed());
        assert!(!judged(json!({"trainer.kubeflow.org/webhook-validation": "enabled"})).allowed());
    }

    #[test]
    fn a_deprecated_runtime_is_warned_of_in_either_kind() {
        let verdict = judged(json!({"trainer.kubeflow.org/support": "deprecated"}));
        assert!(verdict.warnings[0].contains("deprecated"), "{verdict:?}");
    }
}
