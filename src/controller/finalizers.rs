//! Takes a finalizer of older releases off runtimes, so that they can be deleted.
//!
//! Client. Nothing puts it on any more. Only metadata is read, so this also works on a runtime whose spec cannot
//! be read.

use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource};
use serde_json::json;
use tokio::sync::mpsc;

use super::error::{api_text, not_found};
use crate::api::names;
use crate::api::{ClusterTrainingRuntime, TrainingRuntime};
use crate::plan::RuntimeKind;

/// How long a failure is waited out.
const PAUSE: Duration = Duration::from_secs(5);

/// A runtime that has the finalizer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Leftover {
    kind: RuntimeKind,
    namespace: Option<String>,
    name: String,
}

impl Leftover {
    /// Finds the finalizer in the metadata of a runtime.
    pub(super) fn in_metadata(kind: RuntimeKind, metadata: &ObjectMeta) -> Option<Self> {
        without(metadata)?;
        Some(Self {
            kind,
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone()?,
        })
    }
}

/// Gives the finalizers without the old one; `None` where it is not among them.
fn without(metadata: &ObjectMeta) -> Option<Vec<&String>> {
    let all = metadata.finalizers.as_ref()?;
    let rest: Vec<_> = all.iter().filter(|f| *f != names::OLD_FINALIZER).collect();
    (rest.len() < all.len()).then_some(rest)
}

/// Takes the finalizer off each runtime that is named, until none can be named any more.
pub(super) async fn remove_all(client: Client, mut leftovers: mpsc::UnboundedReceiver<Leftover>) {
    while let Some(leftover) = leftovers.recv().await {
        let Leftover {
            kind,
            namespace,
            name,
        } = &leftover;
        loop {
            let result = match (kind, namespace) {
                (RuntimeKind::Namespaced, Some(namespace)) => {
                    remove(
                        &Api::<TrainingRuntime>::namespaced(client.clone(), namespace),
                        name,
                    )
                    .await
                }
                _ => remove(&Api::<ClusterTrainingRuntime>::all(client.clone()), name).await,
            };
            match result {
                Ok(()) => break,
                Err(error) if not_found(&error) => break,
                Err(error) => {
                    let why = api_text(&error);
                    tracing::warn!(
                        kind = kind.name(),
                        name,
                        error = why,
                        "could not remove an old finalizer"
                    );
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }
}

async fn remove<K>(api: &Api<K>, name: &str) -> Result<(), kube::Error>
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
