//! `trainer render`: every object that the controller would make.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::offline::{Offline, Outcome, inputs};
use super::output::{self, BAD, Exit, PLACE, WARN, styled};
use super::{Files, input, yaml};
use crate::plan;

/// Prints every object that the controller would make of the TrainJobs in FILE, in the order it applies them.
#[derive(clap::Args)]
pub(super) struct Render {
    #[command(flatten)]
    files: Files,
    /// Form of the objects
    #[arg(short, long, value_enum, default_value = "yaml")]
    output: Form,
}

/// How objects are written.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Form {
    /// A stream of YAML documents
    Yaml,
    /// One JSON object a line
    Json,
}

impl Render {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let (cluster, outcomes, mut exit) = load(&self.files.files, &self.files.namespace)?;
        for outcome in outcomes.iter().filter(|o| o.kind == crate::api::names::TRAIN_JOB) {
            exit = exit.max(complain(outcome)?);
        }
        for (job, runtime, observed) in cluster.jobs() {
            // The job was let in, so this only fails for facts of the cluster that stand in its way.
            match plan::plan(&inputs(job, runtime, &observed)) {
                Ok(plan) => {
                    let snapshot = plan.snapshot.map(|config_map| json!(config_map));
                    for object in snapshot.into_iter().chain([plan.jobset.object]) {
                        self.print(&object)?;
                    }
                }
                Err(problems) => {
                    let name = job.metadata.name.as_deref().unwrap_or_default();
                    exit = exit.max(Exit::Refused);
                    for problem in &problems {
                        output::err(format!("{} TrainJob {name}: {problem}", styled(BAD, "error:")))?;
                    }
                }
            }
        }
        Ok(exit)
    }

    fn print(&self, object: &Value) -> anyhow::Result<()> {
        match self.output {
            Form::Yaml => output::out(format!("---\n{}", yaml::write(object)?))?,
            Form::Json => output::out(format!("{object}\n"))?,
        }
        Ok(())
    }
}

/// Reads files into an offline cluster; what cannot be read is told at once and decides how the run ends.
pub(super) fn load(files: &[PathBuf], namespace: &str) -> anyhow::Result<(Offline, Vec<Outcome>, Exit)> {
    let input = input::read(files, namespace);
    for error in &input.errors {
        output::err(format!("{} {error}", styled(BAD, "error:")))?;
    }
    let exit = if input.errors.is_empty() {
        Exit::Good
    } else {
        Exit::Unreadable
    };
    let mut cluster = Offline::new()?;
    let outcomes = cluster.take_all(input.objects);
    Ok((cluster, outcomes, exit))
}

/// Tells what is wrong with an object, and what its author should know.
pub(super) fn complain(outcome: &Outcome) -> anyhow::Result<Exit> {
    let title = title(outcome);
    for problem in &outcome.verdict.problems {
        let place = styled(PLACE, &problem.field);
        output::err(format!(
            "{} {title}: {place}: {}",
            styled(BAD, "error:"),
            problem.message
        ))?;
    }
    for warning in &outcome.verdict.warnings {
        output::err(format!("{} {title}: {warning}", styled(WARN, "warning:")))?;
    }
    Ok(if outcome.verdict.allowed() {
        Exit::Good
    } else {
        Exit::Refused
    })
}

/// Names an object: kind, namespace and name.
pub(super) fn title(outcome: &Outcome) -> String {
    match &outcome.namespace {
        Some(namespace) => format!("{} {namespace}/{}", outcome.kind, outcome.name),
        None => format!("{} {}", outcome.kind, outcome.name),
    }
}
