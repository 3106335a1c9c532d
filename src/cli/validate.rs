//! `trainer validate`: the verdict of admission on every TrainJob and runtime.

use serde_json::{Value, json};

use super::offline::Outcome;
use super::output::{self, BAD, Exit, GOOD, PLACE, WARN, styled};
use super::render::{load, title};
use super::settings::Files;

/// Reports whether a cluster would accept each TrainJob and runtime in FILE, with all problems and warnings.
///
/// A document with the kind and name of an earlier one is read as an update of it.
#[derive(clap::Args)]
pub(super) struct Validate {
    #[command(flatten)]
    source: Files,
    /// Format of the verdicts
    #[arg(short, long, value_enum, default_value = "text")]
    output: Form,
}

/// The format of verdicts.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Form {
    /// Text for people
    Text,
    /// A JSON list for programs
    Json,
}

impl Validate {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let (_, outcomes, mut exit) = load(&self.source.files, &self.source.settings)?;
        if outcomes.iter().any(|outcome| !outcome.verdict.allowed()) {
            exit = exit.max(Exit::Refused);
        }
        match self.output {
            Form::Text => outcomes.iter().try_for_each(print)?,
            Form::Json => {
                let verdicts: Vec<Value> = outcomes.iter().map(verdict).collect();
                output::out(format!("{:#}\n", Value::Array(verdicts)))?;
            }
        }
        Ok(exit)
    }
}

fn print(outcome: &Outcome) -> std::io::Result<()> {
    let (style, word) = if outcome.verdict.allowed() {
        (GOOD, "allowed")
    } else {
        (BAD, "refused")
    };
    output::out(format!("{}: {}\n", title(outcome), styled(style, word)))?;
    for problem in &outcome.verdict.problems {
        output::out(format!(
            "  {}: {}\n",
            styled(PLACE, &problem.field),
            problem.message
        ))?;
    }
    for warning in &outcome.verdict.warnings {
        output::out(format!("  {} {warning}\n", styled(WARN, "warning:")))?;
    }
    Ok(())
}

fn verdict(outcome: &Outcome) -> Value {
    let problem =
        |p: &crate::k8s::problem::Problem| json!({"field": p.field.to_string(), "message": p.message});
    json!({
        "kind": outcome.kind,
        "namespace": outcome.namespace,
        "name": outcome.name,
        "allowed": outcome.verdict.allowed(),
        "problems": outcome.verdict.problems.iter().map(problem).collect::<Vec<_>>(),
        "warnings": outcome.verdict.warnings,
    })
}
