//! Why each value is what it is.
//!
//! Nothing is noted by hand: after each stage the JobSet is compared with what it was before, so that no stage can
//! forget to speak of what it did. Stages only add the reasons that a comparison cannot see.

use std::fmt;

use serde_json::Value;

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
    /// Where it stands in the JobSet; list items are named, as in `env[PET_NNODES]`.
    pub path: String,
    /// The value from then on; `None` when it was taken away.
    pub value: Option<Value>,
    /// What led to the value, where it was worked out.
    pub why: Option<String>,
}

/// All changes, in the order they were made. Empty unless asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    entries: Vec<Entry>,
}

impl Trace {
    /// Gives the changes in order.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Gives the changes of one value, the last one wins.
    pub fn history<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(move |e| e.path == path)
    }

    /// Lists the values of a JobSet in their order, each with its path as the changes write it.
    pub fn values(jobset: &Value) -> Vec<(String, Value)> {
        let mut values = Vec::new();
        compare(String::new(), None, Some(jobset), &mut values);
        values
            .into_iter()
            .filter_map(|(path, value)| Some((path, value?)))
            .collect()
    }

    pub(super) fn record(
        &mut self,
        stage: &Stage,
        before: &Value,
        after: &Value,
        reasons: &[(String, String)],
    ) {
        let mut changes = Vec::new();
        compare(String::new(), Some(before), Some(after), &mut changes);
        self.entries.extend(changes.into_iter().map(|(path, value)| {
            let why = reasons
                .iter()
                .rev()
                .find(|(end, _)| ends_with(&path, end))
                .map(|(_, why)| why.clone());
            Entry {
                stage: stage.clone(),
                path,
                value,
                why,
            }
        }));
    }
}

/// Tells whether `path`, or a value that it stands in, ends with the whole steps `end`.
fn ends_with(path: &str, end: &str) -> bool {
    path.match_indices(end).any(|(at, _)| {
        let before = at == 0 || path.as_bytes()[at - 1] == b'.';
        let rest = &path[at + end.len()..];
        before && (rest.is_empty() || rest.starts_with('.') || rest.starts_with('['))
    })
}

/// Lists the leaves that differ.
fn compare(
    path: String,
    before: Option<&Value>,
    after: Option<&Value>,
    out: &mut Vec<(String, Option<Value>)>,
) {
    if before == after {
        return;
    }
    match (before, after) {
        (_, None) => out.push((path, None)),
        (old, Some(Value::Object(new))) if !new.is_empty() => {
            let old = old.and_then(Value::as_object);
            for (key, value) in new {
                compare(step(&path, key), old.and_then(|o| o.get(key)), Some(value), out);
            }
            for key in old
                .into_iter()
                .flat_map(serde_json::Map::keys)
                .filter(|k| !new.contains_key(*k))
            {
                out.push((step(&path, key), None));
            }
        }
        (old, Some(Value::Array(new)))
            if new.iter().all(|item| key_of(item).is_some()) && !new.is_empty() =>
        {
            let old = old
                .and_then(Value::as_array)
                .map(Vec::as_slice)
                .unwrap_or_default();
            let find =
                |list: &[Value], key: &str| list.iter().position(|i| key_of(i).is_some_and(|k| k == key));
            for item in new {
                let key = key_of(item).unwrap_or_default();
                let was = find(old, &key).and_then(|i| old.get(i));
                compare(format!("{path}[{key}]"), was, Some(item), out);
            }
            for item in old {
                if let Some(key) = key_of(item).filter(|key| find(new, key).is_none()) {
                    out.push((format!("{path}[{key}]"), None));
                }
            }
        }
        (_, Some(new)) => out.push((path, Some(new.clone()))),
    }
}

/// Goes into a member; keys with dots or slashes are put in brackets.
fn step(path: &str, key: &str) -> String {
    if key.contains(['.', '/']) {
        format!("{path}[{key}]")
    } else if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}

/// What names an item of a list: its name, the path it is mounted at, or its port.
fn key_of(item: &Value) -> Option<String> {
    let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
    text("mountPath")
        .or_else(|| item.get("containerPort").map(ToString::to_string))
        .or_else(|| text("name"))
}
