//! `trainer explain`: why each value of a JobSet is what it is.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Files;
use super::offline::inputs;
use super::output::{self, BAD, DIM, Exit, PLACE, styled};
use super::render::{complain, load};
use crate::k8s::json as k8s_json;
use crate::plan::{self, Entry, Plan};

/// Longest value that is shown whole.
const SHOWN: usize = 60;

/// Tells of each value of the JobSet which layer set it, and what it was before.
///
/// JSON-PATH is a path as the tree shows it, such as `spec.replicatedJobs[node].template.spec.parallelism`, or its end,
/// such as `env[PET_NNODES]`.
#[derive(clap::Args)]
pub(super) struct Explain {
    #[command(flatten)]
    files: Files,
    /// Only this value, and what is in it
    #[arg(value_name = "JSON-PATH")]
    path: Option<String>,
}

impl Explain {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let (cluster, outcomes, mut exit) = load(&self.files.files, &self.files.namespace)?;
        for outcome in outcomes.iter().filter(|o| o.kind == crate::api::names::TRAIN_JOB) {
            exit = exit.max(complain(outcome)?);
        }
        for (job, runtime, observed) in cluster.jobs() {
            match plan::explain(&inputs(job, runtime, &observed)) {
                Ok(plan) => exit = exit.max(self.print(&plan)?),
                Err(problems) => {
                    exit = exit.max(Exit::Refused);
                    output::err(format!("{} {problems}", styled(BAD, "error:")))?;
                }
            }
        }
        Ok(exit)
    }

    fn print(&self, plan: &Plan) -> anyhow::Result<Exit> {
        let name = k8s_json::text(&plan.jobset.object, &["metadata", "name"]).unwrap_or_default();
        let values = values(plan);
        let wanted = self.path.as_deref().map(normal);
        let chosen: Vec<_> = values
            .iter()
            .filter(|(path, _)| wanted.as_deref().is_none_or(|wanted| is_within(path, wanted)))
            .collect();
        if let (true, Some(path)) = (chosen.is_empty(), &self.path) {
            output::err(format!(
                "{} JobSet {name} has no value at {path}",
                styled(BAD, "error:")
            ))?;
            return Ok(Exit::Refused);
        }
        output::out(format!("{}\n", styled(PLACE, format!("JobSet {name}"))))?;
        let mut above: Vec<&str> = Vec::new();
        for (path, history) in chosen {
            let steps = steps(path);
            let same = above.iter().zip(&steps).take_while(|(a, b)| a == b).count();
            let last = steps.len().saturating_sub(1);
            for (depth, step) in steps.iter().enumerate().take(last).skip(same) {
                output::out(format!("{}{step}\n", indent(depth)))?;
            }
            let leaf = steps.last().copied().unwrap_or_default();
            output::out(format!("{}{}", indent(last), line(leaf, history)))?;
            above = steps;
        }
        Ok(Exit::Good)
    }
}

/// Gathers the values that are there in the end, in the order of the JobSet, each with its history.
fn values(plan: &Plan) -> Vec<(&str, Vec<&Entry>)> {
    let mut histories: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in plan.trace.entries() {
        histories.entry(&entry.path).or_default().push(entry);
    }
    histories.retain(|_, history| history.last().is_some_and(|entry| entry.value.is_some()));
    histories.into_iter().collect()
}

fn line(leaf: &str, history: &[&Entry]) -> String {
    let Some((last, before)) = history.split_last() else {
        return String::new();
    };
    let value = last.value.as_ref().map(shown).unwrap_or_default();
    let mut source = format!("# {}", last.stage);
    if let Some(why) = &last.why {
        source.push_str(": ");
        source.push_str(why);
    }
    for entry in before.iter().rev() {
        let was = entry
            .value
            .as_ref()
            .map_or_else(|| "removed".to_owned(), |v| format!("was {}", shown(v)));
        source = format!("{source}; {was} by {}", entry.stage);
    }
    format!("{leaf}: {}  {}\n", styled(PLACE, value), styled(DIM, source))
}

/// Shows a value on one line, cut where it is long.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) if !text.contains('\n') && !text.is_empty() => text.clone(),
        other => other.to_string(),
    };
    if text.chars().count() <= SHOWN {
        return text;
    }
    let cut: String = text.chars().take(SHOWN).collect();
    format!("{cut}... ({} characters)", text.chars().count())
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth + 1)
}

/// Splits a path at its dots, but not at those in brackets.
fn steps(path: &str) -> Vec<&str> {
    let (mut steps, mut start, mut inside) = (Vec::new(), 0, false);
    for (at, c) in path.char_indices() {
        match c {
            '[' => inside = true,
            ']' => inside = false,
            '.' if !inside => {
                steps.push(&path[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    steps.push(&path[start..]);
    steps
}

/// Takes the marks of JSONPath off: a leading `$` and dot, quotes in brackets, and `?(@.name=="x")`.
fn normal(path: &str) -> String {
    let path = path
        .trim_start_matches('{')
        .trim_end_matches('}')
        .trim_start_matches('$')
        .trim_start_matches('.');
    path.replace("?(@.name==", "")
        .replace(")]", "]")
        .replace(['"', '\''], "")
}

/// Tells whether a value is the wanted one or stands in it; the wanted path may be the end of a path.
fn is_within(path: &str, wanted: &str) -> bool {
    let (path, wanted) = (steps(path), steps(wanted));
    path.windows(wanted.len()).any(|window| {
        let Some(((last_found, found), (last_wanted, wanted))) = window.split_last().zip(wanted.split_last())
        else {
            return false;
        };
        let list_item = last_found
            .strip_prefix(*last_wanted)
            .is_some_and(|rest| rest.starts_with('['));
        found == wanted && (last_found == last_wanted || list_item)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_or_its_end_names_a_value() {
        let path = "spec.replicatedJobs[node].template.metadata.labels[a.b/c].x";
        for wanted in [
            "spec",
            "$.spec.replicatedJobs[node]",
            "spec.replicatedJobs",
            "labels[a.b/c]",
            "labels",
            ".x",
        ] {
            assert!(is_within(path, &normal(wanted)), "{wanted}");
        }
        for wanted in ["replicatedJobs[launcher]", "metadata.x", "spec.template"] {
            assert!(!is_within(path, &normal(wanted)), "{wanted}");
        }
        assert_eq!(
            normal("{.spec.replicatedJobs[?(@.name==\"node\")]}"),
            "spec.replicatedJobs[node]"
        );
    }
}
