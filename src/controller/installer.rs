//! `trainer runtimes`: puts the chart's runtimes into the cluster, and takes them away.
//!
//! Client. Runs as a hook of the chart. It owns what carries its label: what is no longer wanted goes, runtimes of
//! others are never touched.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::error::{api_text, not_found};
use super::failure::Failure;
use crate::api::{ClusterTrainingRuntime, names};
use crate::k8s::json as k8s_json;

/// How long the API server may take to serve the kind, and to answer.
const PATIENCE: Duration = Duration::from_secs(120);

/// Puts shipped ClusterTrainingRuntimes into the cluster, or takes them away.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Runtimes {
    /// Applies every runtime of a folder and removes those that were applied before and are not in it any more
    Apply {
        /// Folder of YAML files
        #[arg(long, value_name = "DIR")]
        from: PathBuf,
    },
    /// Deletes every runtime that `apply` has put there
    Delete,
}

impl Runtimes {
    /// Carries the command out; gives what was done, a line each.
    pub fn run(&self) -> Result<Vec<String>, Failure> {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?
            .block_on(async {
                let client = Client::try_default()
                    .await
                    .map_err(|error| Failure::Connect(Box::new(error)))?;
                let api = Api::<ClusterTrainingRuntime>::all(client);
                match self {
                    Self::Apply { from } => apply(&api, read(from)?).await,
                    Self::Delete => remove_others(&api, &BTreeSet::new()).await,
                }
            })
    }
}

/// Reads all YAML files of a folder. What is not a ClusterTrainingRuntime is refused, before anything is applied.
fn read(folder: &Path) -> Result<Vec<(String, Value)>, Failure> {
    let trouble = |path: &Path, why: String| Failure::Runtimes(format!("{}: {why}", path.display()));
    let entries = std::fs::read_dir(folder).map_err(|e| trouble(folder, e.to_string()))?;
    let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|e| e == "yaml" || e == "yml"));
    files.sort();
    let mut runtimes = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path).map_err(|e| trouble(&path, e.to_string()))?;
        let mut object: Value = serde_saphyr::from_str(&text).map_err(|e| trouble(&path, e.to_string()))?;
        let kind = k8s_json::text(&object, &["kind"]).unwrap_or_default().to_owned();
        let name = k8s_json::text(&object, &["metadata", "name"])
            .unwrap_or_default()
            .to_owned();
        if kind != names::CLUSTER_TRAINING_RUNTIME || name.is_empty() {
            return Err(trouble(
                &path,
                format!("holds {kind} {name:?}; only named ClusterTrainingRuntimes are installed"),
            ));
        }
        k8s_json::object_mut(&mut object, &["metadata", "labels"]).insert(
            names::MANAGED_BY_LABEL.to_owned(),
            json!(names::RUNTIMES_INSTALLER),
        );
        runtimes.push((name, object));
    }
    Ok(runtimes)
}

async fn apply(
    api: &Api<ClusterTrainingRuntime>,
    runtimes: Vec<(String, Value)>,
) -> Result<Vec<String>, Failure> {
    let mut done = Vec::new();
    let params = PatchParams::apply(names::FIELD_MANAGER).force();
    for (name, object) in &runtimes {
        let object = Patch::Apply(object);
        patiently(&format!("apply {name}"), || api.patch(name, &params, &object)).await?;
        done.push(format!("applied ClusterTrainingRuntime {name}"));
    }
    let wanted = runtimes.into_iter().map(|(name, _)| name).collect();
    done.extend(remove_others(api, &wanted).await?);
    Ok(done)
}

/// Deletes what carries the installer's label and is not wanted. Where the kind is not served there is nothing.
async fn remove_others(
    api: &Api<ClusterTrainingRuntime>,
    wanted: &BTreeSet<String>,
) -> Result<Vec<String>, Failure> {
    let ours = ListParams::default().labels(&format!(
        "{}={}",
        names::MANAGED_BY_LABEL,
        names::RUNTIMES_INSTALLER
    ));
    let found = match api.list_metadata(&ours).await {
        Err(error) if not_found(&error) => return Ok(Vec::new()),
        Err(_) => patiently("list ClusterTrainingRuntimes", || api.list_metadata(&ours)).await?,
        Ok(found) => found,
    };
    let mut done = Vec::new();
    for name in found
        .iter()
        .map(ResourceExt::name_any)
        .filter(|name| !wanted.contains(name))
    {
        match api.delete(&name, &DeleteParams::default()).await {
            Ok(_) => done.push(format!("deleted ClusterTrainingRuntime {name}")),
            Err(error) if not_found(&error) => {}
            Err(error) => {
                return Err(Failure::Runtimes(format!(
                    "cannot delete {name}: {}",
                    api_text(&error)
                )));
            }
        }
    }
    Ok(done)
}

/// Tries a call again until it works, its time is up, or the API server refuses it for good.
async fn patiently<T, F>(what: &str, call: impl Fn() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, kube::Error>>,
{
    let end = Instant::now() + PATIENCE;
    loop {
        let error = match call().await {
            Ok(answer) => return Ok(answer),
            Err(error) => error,
        };
        // The kind may not be served yet, and a new role may not be known yet.
        let passes =
            !matches!(&error, kube::Error::Api(status) if matches!(status.code, 400 | 405..=408 | 410..=428));
        if !passes || Instant::now() >= end {
            return Err(Failure::Runtimes(format!("cannot {what}: {}", api_text(&error))));
        }
        sleep(Duration::from_secs(1)).await;
    }
}
