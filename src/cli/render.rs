//! `trainer render`: every object that the controller would create.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::input;
use super::offline::{Offline, Outcome};
use super::output::{self, BAD, Exit, PLACE, WARN, styled};
use super::settings::{Files, Settings};
use crate::api::{TrainJob, names};
use crate::k8s::problem::Problems;
use crate::k8s::yaml;
use crate::plan::{self, Config, NewSecret, Plan};

/// Prints every object that the controller would create for the TrainJobs in FILE, in that order.
#[derive(clap::Args)]
pub(super) struct Render {
    #[command(flatten)]
    source: Files,
    /// Format of the objects
    #[arg(short, long, value_enum, default_value = "yaml")]
    output: Form,
}

/// The format of objects.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Form {
    /// A stream of YAML documents
    Yaml,
    /// One JSON object a line
    Json,
}

impl Render {
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let (cluster, mut exit) = load_jobs(&self.source.files, &self.source.settings)?;
        for job in cluster.jobs() {
            let (inputs, facts) = (cluster.inputs(job), cluster.facts_of(job));
            // The job was admitted, so only facts of the cluster can prevent its plan.
            match plan::plan(inputs, &facts) {
                Ok(plan) => self.print_plan(job, plan)?,
                Err(problems) => exit = exit.max(obstructed(job, &problems)?),
            }
        }
        Ok(exit)
    }

    fn print_plan(&self, job: &TrainJob, plan: Plan) -> anyhow::Result<()> {
        // No `..`: a new kind of object in the plan does not compile until it is printed. Admission has printed the
        // warnings.
        let Plan {
            secrets,
            snapshot,
            config_maps,
            gang_objects,
            gang: _,
            jobset,
            warnings: _,
            trace: _,
        } = plan;
        if !job.is_ours() {
            let by = job.spec.managed_by.as_deref().unwrap_or_default();
            output::err(format!(
                "{} {}: spec.managedBy is {by:?}, so the controller ignores the job; without that it would create this",
                styled(WARN, "note:"),
                job_title(job)
            ))?;
        }
        for path in &jobset.frozen {
            output::err(format!(
                "{} {}: {path} of the existing JobSet differs and can no longer change",
                styled(WARN, "note:"),
                job_title(job)
            ))?;
        }
        let secrets = secrets.iter().map(secret);
        let config_maps = snapshot.into_iter().chain(config_maps).map(|map| json!(map));
        let gang_objects = gang_objects.into_iter().map(|gang| gang.object);
        for object in secrets
            .chain(config_maps)
            .chain(gang_objects)
            .chain([jobset.object])
        {
            self.print(&object)?;
        }
        Ok(())
    }

    fn print(&self, object: &Value) -> anyhow::Result<()> {
        match self.output {
            Form::Yaml => output::out(format!("---\n{}", yaml::write(object)?))?,
            Form::Json => output::out(format!("{object}\n"))?,
        }
        Ok(())
    }
}

/// Returns a Secret with its keys, but without the values that only the controller creates.
fn secret(secret: &NewSecret) -> Value {
    let data: serde_json::Map<String, Value> = secret
        .recipe
        .keys()
        .iter()
        .map(|key| ((*key).to_owned(), json!("<made by the controller>")))
        .collect();
    let mut object = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": secret.metadata,
        "immutable": true,
        "stringData": data,
    });
    if let Some(kind) = secret.recipe.secret_type() {
        object["type"] = json!(kind);
    }
    object
}

/// Reads files into an offline cluster, and prints what cannot be parsed.
pub(super) fn load(files: &[PathBuf], settings: &Settings) -> anyhow::Result<(Offline, Vec<Outcome>, Exit)> {
    let input = input::read(files, &settings.namespace);
    let config = Config {
        accelerators: settings.accelerator_resources.clone(),
    };
    let mut cluster = Offline::new(config)?;
    let (outcomes, errors) = cluster.take_all(input.objects);
    let mut exit = Exit::Good;
    for error in input.errors.iter().chain(&errors) {
        exit = Exit::Unreadable;
        output::err(format!("{} {error}", styled(BAD, "error:")))?;
    }
    Ok((cluster, outcomes, exit))
}

/// Reads files for a command about jobs. Prints what is refused, and the warnings about jobs.
pub(super) fn load_jobs(files: &[PathBuf], settings: &Settings) -> anyhow::Result<(Offline, Exit)> {
    let (cluster, outcomes, mut exit) = load(files, settings)?;
    let is_job = |outcome: &&Outcome| outcome.kind == names::TRAIN_JOB;
    for outcome in outcomes.iter().filter(|o| is_job(o) || !o.verdict.allowed()) {
        exit = exit.max(complain(outcome)?);
    }
    if !outcomes.iter().any(|o| is_job(&o)) {
        output::err(format!(
            "{} there is no TrainJob in the files",
            styled(WARN, "note:")
        ))?;
    }
    Ok((cluster, exit))
}

/// Prints why the cluster prevents a job.
pub(super) fn obstructed(job: &TrainJob, problems: &Problems) -> anyhow::Result<Exit> {
    for problem in problems {
        let place = styled(PLACE, &problem.field);
        output::err(format!(
            "{} {}: {place}: {}",
            styled(BAD, "error:"),
            job_title(job),
            problem.message
        ))?;
    }
    Ok(Exit::Refused)
}

fn job_title(job: &TrainJob) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    format!(
        "{} {}/{}",
        names::TRAIN_JOB,
        text(&job.metadata.namespace),
        text(&job.metadata.name)
    )
}

/// Prints the problems and warnings of an object.
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

/// Returns kind, namespace and name of an object.
pub(super) fn title(outcome: &Outcome) -> String {
    match &outcome.namespace {
        Some(namespace) => format!("{} {namespace}/{}", outcome.kind, outcome.name),
        None => format!("{} {}", outcome.kind, outcome.name),
    }
}
