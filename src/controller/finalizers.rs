//! Takes a finalizer of older releases off runtimes, so that they can be deleted.
//!
//! Client. Nothing puts it on any more. Only metadata is read, so this also works on a runtime whose spec cannot
//! be read.

use std::collections::HashSet;
use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource};
use serde_json::json;
use tokio::sync::mpsc;

use super::error::{api_text, not_found};
use crate::api::{ClusterTrainingRuntime, TrainingRuntime, names};
use crate::plan::RuntimeKind;

/// How long a failure is waited out.
const PAUSE: Duration = Duration::from_secs(5);

/// A runtime that has the finalizer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Leftover {
    kind: RuntimeKind,
    namespace: Option<String>,
    name: String,
}

impl Leftover {
    /// Finds the finalizer in the metadata of a runtime.
    pub(crate) fn in_metadata(kind: RuntimeKind, metadata: &ObjectMeta) -> Option<Self> {
        without(metadata)?;
        Some(Self {
            kind,
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone()?,
        })
    }
}

/// Returns the finalizers without the old one; `None` if it is not among them.
fn without(metadata: &ObjectMeta) -> Option<Vec<&String>> {
    let all = metadata.finalizers.as_ref()?;
    let rest: Vec<_> = all.iter().filter(|f| *f != names::OLD_FINALIZER).collect();
    (rest.len() < all.len()).then_some(rest)
}

/// Takes the finalizer off each runtime that is named, until none can be named any more. What fails is tried again
/// after the others.
pub(crate) async fn remove_all(client: Client, mut leftovers: mpsc::UnboundedReceiver<Leftover>) {
    while let Some(first) = leftovers.recv().await {
        let mut open = HashSet::from([first]);
        loop {
            let mut failed = HashSet::new();
            for leftover in open {
                if let Err(error) = remove(&client, &leftover).await {
                    let (why, name) = (api_text(&error), &leftover.name);
                    let kind = leftover.kind.name();
                    tracing::warn!(kind, name, error = why, "could not remove an old finalizer");
                    failed.insert(leftover);
                }
            }
            if failed.is_empty() {
                break;
            }
            tokio::time::sleep(PAUSE).await;
            while let Ok(more) = leftovers.try_recv() {
                failed.insert(more);
            }
            open = failed;
        }
    }
}

async fn remove(client: &Client, leftover: &Leftover) -> Result<(), kube::Error> {
    let Leftover {
        kind,
        namespace,
        name,
    } = leftover;
    let removed = match (kind, namespace) {
        (RuntimeKind::Namespaced, Some(namespace)) => {
            remove_from(
                &Api::<TrainingRuntime>::namespaced(client.clone(), namespace),
                name,
            )
            .await
        }
        _ => remove_from(&Api::<ClusterTrainingRuntime>::all(client.clone()), name).await,
    };
    match removed {
        Err(error) if not_found(&error) => Ok(()),
        other => other,
    }
}

async fn remove_from<K>(api: &Api<K>, name: &str) -> Result<(), kube::Error>
where
    K: Resource<DynamicType = ()> + Clone + Debug + serde::de::DeserializeOwned,
{
    let runtime = api.get_metadata(name).await?;
    let Some(rest) = without(&runtime.metadata) else {
        return Ok(());
    };
    let change = json!({"metadata": {
        "finalizers": rest,
        "resourceVersion": runtime.metadata.resource_version,
    }});
    api.patch_metadata(name, &PatchParams::default(), &Patch::Merge(&change))
        .await?;
    tracing::info!(kind = %K::kind(&()), name, finalizer = names::OLD_FINALIZER, "removed an old finalizer");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(finalizers: &[&str]) -> ObjectMeta {
        ObjectMeta {
            name: Some("torch".to_owned()),
            finalizers: Some(finalizers.iter().map(|f| (*f).to_owned()).collect()),
            ..ObjectMeta::default()
        }
    }

    #[test]
    fn only_the_old_finalizer_is_taken_off() {
        assert_eq!(
            without(&metadata(&["a", names::OLD_FINALIZER, "b"])).unwrap(),
            ["a", "b"]
        );
    }

    #[test]
    fn a_runtime_without_it_is_left_alone() {
        assert_eq!(
            Leftover::in_metadata(RuntimeKind::Cluster, &metadata(&["a"])),
            None
        );
        assert_eq!(
            Leftover::in_metadata(RuntimeKind::Cluster, &ObjectMeta::default()),
            None
        );
    }
}
