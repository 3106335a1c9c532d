//! Why each value is what it is.
//!
//! After each stage the JobSet is compared with what it was before, so that no stage can omit a change. Stages only add
//! reasons, which a comparison cannot find.

use std::fmt;

use serde_json::Value;

use crate::k8s::diff::{self, Change, Difference, Unkeyed};
use crate::k8s::path::FieldPath;

/// Who set a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The runtime's template.
    Runtime {
        /// Kind and name, such as `ClusterTrainingRuntime torch-distributed`.
        runtime: String,
    },
    /// An entry of `spec.runtimePatches`.
    Patch {
        /// The entry's manager.
        manager: String,
    },
    /// Node and replica counts.
    Counts,
    /// `spec.trainer.resourcesPerNode`.
    Resources,
    /// `spec.initializer`.
    Initializer,
    /// The framework of the runtime's `mlPolicy`.
    Framework {
        /// Name of the framework, such as `torch`.
        name: &'static str,
    },
    /// `spec.trainer`.
    Trainer,
    /// The gang scheduler of the runtime's `podGroupPolicy`.
    Gang {
        /// Name of the scheduler, such as `volcano`.
        name: &'static str,
    },
    /// Name, namespace, owner and suspension, which every JobSet gets.
    Assemble,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runtime { runtime } => write!(f, "{runtime}"),
            Self::Patch { manager } => write!(f, "runtimePatches[{manager}]"),
            Self::Counts => f.write_str("node counts"),
            Self::Resources => f.write_str("trainer.resourcesPerNode"),
            Self::Initializer => f.write_str("initializer section"),
            Self::Framework { name } => write!(f, "framework {name}"),
            Self::Trainer => f.write_str("trainer section"),
            Self::Gang { name } => write!(f, "gang of {name}"),
            Self::Assemble => f.write_str("default"),
        }
    }
}

/// One change of one value.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Who changed it.
    pub stage: Stage,
    /// The path of the value in the JobSet. List items have names, as in `env[PET_NNODES]`.
    pub path: FieldPath,
    /// The new value; `None` if it was removed.
    pub value: Option<Value>,
    /// The reason for the value, if it was computed.
    pub why: Option<String>,
}

/// All changes, in order. Empty unless [`explain`](super::explain) asks for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    entries: Vec<Entry>,
}

impl Trace {
    /// Returns the changes in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Lists the changes of one value; the last one wins.
    pub fn history(&self, path: &FieldPath) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.path == *path)
    }

    /// Records what a stage changed. Each reason belongs to the values at, or below, a path that contains its own.
    pub(super) fn record(
        &mut self,
        stage: &Stage,
        before: &Value,
        after: &Value,
        reasons: &[(FieldPath, String)],
    ) {
        let reason = |path: &FieldPath| {
            // The latest reason knows most.
            let found = reasons.iter().rev().find(|(part, _)| path.contains(part));
            found.map(|(_, why)| why.clone())
        };
        for (path, value) in changes(before, after) {
            self.entries.push(Entry {
                stage: stage.clone(),
                why: reason(&path),
                path,
                value: value.cloned(),
            });
        }
    }
}

/// Lists the values that changed. What is new is listed value by value, what was removed as a whole.
fn changes<'a>(before: &'a Value, after: &'a Value) -> Vec<(FieldPath, Option<&'a Value>)> {
    let mut changes = Vec::new();
    for Difference { path, change } in diff::differences(before, after, Unkeyed::Whole) {
        match change {
            Change::Set { new, .. } => {
                let below = diff::leaves(new).into_iter();
                changes.extend(below.map(|(rest, value)| (path.clone().join(&rest), Some(value))));
            }
            Change::FieldRemoved(_) | Change::ItemRemoved(_) => changes.push((path, None)),
        }
    }
    changes
}
