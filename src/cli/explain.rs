//! `trainer explain`: why each value of a JobSet is what it is.
//!
//! Knows how to print the trace of a plan. The plan decides what is in it.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::PathBuf;

use serde_json::Value;

use super::gang;
use super::output::{self, BAD, DIM, Exit, PLACE, styled};
use super::render::{load_jobs, obstructed};
use super::settings::Settings;
use super::tree::Tree;
use crate::k8s::diff;
use crate::k8s::json as k8s_json;
use crate::k8s::path::{FieldPath, Step};
use crate::plan::{self, Entry, Plan, Stage, Trace};

/// Longest value that is shown in full, in characters.
const SHOWN: usize = 60;

/// Prints which layer set each value of the JobSet, and what the value was before.
///
/// JSON-PATH is a path as the tree shows it, such as `spec.replicatedJobs[node].template.spec.parallelism`, or a part
/// of one, such as `env[PET_NNODES]`. JSONPath works, too; `..` stands for any steps.
#[derive(clap::Args)]
pub(super) struct Explain {
    /// File with TrainJobs, their runtimes (the shipped ones are built in), and facts of the cluster such as an existing
    /// JobSet; - is standard input; may be repeated
    #[arg(short = 'f', long = "filename", value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    settings: Settings,
    /// Only this value, and what is below it
    #[arg(value_name = "JSON-PATH")]
    path: Option<String>,
}

impl Explain {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let (cluster, mut exit) = load_jobs(&self.files, &self.settings)?;
        for job in cluster.jobs() {
            let (inputs, facts) = (cluster.inputs(job), cluster.facts_of(job));
            exit = exit.max(match plan::explain(inputs, &facts) {
                Ok(plan) => self.print(&plan, cluster.template_of(job))?,
                Err(problems) => obstructed(job, &problems)?,
            });
        }
        Ok(exit)
    }

    fn print(&self, plan: &Plan, template: Option<&Value>) -> anyhow::Result<Exit> {
        let written = template.map(paths);
        let object = &plan.jobset.object;
        let text = |field| k8s_json::text(object, &["metadata", field]).unwrap_or_default();
        let title = format!("JobSet {}/{}", text("namespace"), text("name"));
        let values = diff::leaves(object);
        let chosen = choose(&values, self.path.as_deref());
        if let (true, Some(path)) = (chosen.is_empty(), &self.path) {
            output::err(format!(
                "{} {title} has no value at {path}; without a path all values are shown",
                styled(BAD, "error:")
            ))?;
            return Ok(Exit::Refused);
        }
        let mut tree = Tree::default();
        for (path, value) in chosen {
            let line = format!(
                "{}  {}",
                styled(PLACE, shown(value)),
                styled(DIM, source(&plan.trace, path, written.as_ref()))
            );
            tree.insert(&labels(path), line);
        }
        output::out(format!("{}\n{tree}", styled(PLACE, title)))?;
        if let (None, Some(gang)) = (&self.path, &plan.gang) {
            output::out(gang::text(gang))?;
        }
        Ok(Exit::Good)
    }
}

/// Lists the values that a path names: from the root if there are any, else anywhere.
fn choose<'a>(values: &'a [(FieldPath, &'a Value)], path: Option<&str>) -> Vec<&'a (FieldPath, &'a Value)> {
    let wanted = FieldPath::new(&path.map(normal).unwrap_or_default());
    let wanted = wanted.steps();
    let chosen = |fits: fn(&[Step], &[Step]) -> bool| -> Vec<_> {
        let found = values.iter().filter(|(path, _)| fits(path.steps(), wanted));
        found.collect()
    };
    let from_root = chosen(leads_to);
    if from_root.is_empty() {
        chosen(|path, wanted| (0..path.len()).any(|start| leads_to(&path[start..], wanted)))
    } else {
        from_root
    }
}

/// Reports whether a path begins with the wanted steps. An empty one stands for any number of steps.
fn leads_to(path: &[Step], wanted: &[Step]) -> bool {
    match (wanted, path) {
        ([], _) => true,
        ([Step::Field(any), rest @ ..], _) if any.is_empty() => {
            (0..path.len()).any(|start| leads_to(&path[start..], rest))
        }
        ([step, rest @ ..], [first, path @ ..]) => is_same(first, step) && leads_to(path, rest),
        (_, []) => false,
    }
}

/// Reports whether a step is the wanted one. A number in brackets may be the key of an item, such as a port.
fn is_same(step: &Step, wanted: &Step) -> bool {
    match (step, wanted) {
        (Step::Key(key), Step::Index(index)) => *key == index.to_string(),
        _ => step == wanted,
    }
}

/// Lists the paths of the values of a template.
fn paths(template: &Value) -> BTreeSet<FieldPath> {
    diff::leaves(template).into_iter().map(|(path, _)| path).collect()
}

/// Returns who set a value, why, and what it was before. `written` are the paths that the runtime's author wrote.
fn source(trace: &Trace, path: &FieldPath, written: Option<&BTreeSet<FieldPath>>) -> String {
    let history = history(trace, path);
    let stage = |entry: &Entry| {
        let author = written.is_none_or(|written| written.contains(&entry.path));
        match &entry.stage {
            Stage::Runtime { .. } if !author => "default".to_owned(),
            stage => stage.to_string(),
        }
    };
    let Some((last, before)) = history.split_last() else {
        return String::new();
    };
    let mut source = format!("# {}", stage(last));
    if let Some(why) = &last.why {
        source.push_str(": ");
        source.push_str(why);
    }
    for entry in before.iter().rev() {
        let was = entry
            .value
            .as_ref()
            .map_or_else(|| "removed".to_owned(), |v| format!("was {}", shown(v)));
        // Writing to a String cannot fail.
        let _ = write!(source, "; {was}, set by {}", stage(entry));
    }
    source
}

/// Lists the changes of a value, or of the nearest value around it that has any.
fn history<'a>(trace: &'a Trace, path: &FieldPath) -> Vec<&'a Entry> {
    let mut path = path.clone();
    loop {
        let found: Vec<&Entry> = trace.history(&path).collect();
        match path.parent() {
            Some(parent) if found.is_empty() => path = parent,
            _ => return found,
        }
    }
}

/// Returns a value as one line, cut if it is long. A text that reads like another value is quoted.
fn shown(value: &Value) -> String {
    let text = match value {
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string(),
    };
    let length = text.chars().count();
    if length <= SHOWN {
        return text;
    }
    let cut: String = text.chars().take(SHOWN).collect();
    format!("{cut}… ({length} characters)")
}

fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(['\n', '\t']) && serde_json::from_str::<Value>(text).is_err()
}

/// Returns the names of a path's branches in the tree: each field, with the items and keys that follow it.
fn labels(path: &FieldPath) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for step in path.steps() {
        match (step, labels.last_mut()) {
            (Step::Index(_) | Step::Key(_), Some(last)) => last.push_str(&step.to_string()),
            _ => labels.push(step.to_string()),
        }
    }
    labels
}

/// Removes the syntax of `JSONPath`: braces, a leading `$` and dots, quotes in brackets, and `?(@.name=="x")`.
fn normal(path: &str) -> String {
    path.trim_start_matches('{')
        .trim_end_matches('}')
        .trim_start_matches(['$', '.'])
        .replace("?(@.name==", "")
        .replace(")]", "]")
        .replace(['"', '\''], "")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(path: &str) -> usize {
        let value = json!(1);
        let at = |path: &str| (FieldPath::new(path), &value);
        let values = [
            at("metadata.name"),
            at("spec.replicatedJobs[node].name"),
            at("spec.replicatedJobs[node].template.metadata.labels[a.b/c]"),
            at("spec.replicatedJobs[node].template.spec.parallelism"),
            at("spec.replicatedJobs[node].template.spec.template.spec.containers[node].env[A].value"),
            at("spec.suspend"),
        ];
        choose(&values, Some(path)).len()
    }

    #[test]
    fn a_path_from_the_root_names_what_is_below_it() {
        assert_eq!(found("spec"), 5);
        assert_eq!(found("$.spec.replicatedJobs[node]"), 4);
        assert_eq!(found("{.spec.replicatedJobs[?(@.name==\"node\")].name}"), 1);
        assert_eq!(found("spec.replicatedJobs"), 4);
        assert_eq!(found("metadata"), 1, "a path from the root takes precedence");
    }

    #[test]
    fn a_part_of_a_path_names_every_value_it_fits() {
        assert_eq!(found("env[A]"), 1);
        assert_eq!(found("env['A'].value"), 1);
        assert_eq!(found("$..labels[a.b/c]"), 1);
        assert_eq!(found("spec.replicatedJobs[node].template...env[A]"), 1);
        assert_eq!(found("spec..labels"), 1);
        assert_eq!(found("parallelism"), 1);
        assert_eq!(found("name"), 2);
    }

    #[test]
    fn a_path_without_a_value_finds_nothing() {
        for path in [
            "env[B]",
            "replicatedJobs[launcher]",
            "spec.name",
            "metadata.x",
            "plicatedJobs",
        ] {
            assert_eq!(found(path), 0, "{path}");
        }
    }

    #[test]
    fn a_text_that_reads_like_a_number_is_quoted() {
        assert_eq!(shown(&json!("29500")), "\"29500\"");
        assert_eq!(shown(&json!(29500)), "29500");
        assert_eq!(shown(&json!("auto")), "auto");
        assert_eq!(shown(&json!("")), "\"\"");
        assert!(shown(&json!("x".repeat(100))).ends_with("… (100 characters)"));
    }
}
