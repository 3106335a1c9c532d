//! Reads runtimes no earlier than the job that names them was seen (read after create).
//!
//! Client. Whoever changes a runtime and then creates a job, perhaps in one file, gets what they wrote, although watches may
//! bring the two in any order. One read serves all jobs that were seen before it began.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube::core::DeserializeGuard;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::api::{ClusterTrainingRuntime, TrainJob, TrainingRuntime};
use crate::controller::error::{Doing, Error};
use crate::controller::key::{Guarded, Key};
use crate::plan::{Runtime, RuntimeKind};

/// The last reads.
#[derive(Debug, Default)]
pub(crate) struct RuntimeCache(Mutex<HashMap<Name, Slot>>);

/// Kind, namespace and name of a runtime.
type Name = (RuntimeKind, String, String);
/// Whoever reads holds it, and the others wait for what comes.
type Slot = Arc<tokio::sync::Mutex<Option<Read>>>;

#[derive(Debug)]
struct Read {
    began: Instant,
    runtime: Arc<Runtime>,
}

impl RuntimeCache {
    /// Returns the runtime that a job names, as it was when the job was `seen` or later; `None` also for unknown kinds.
    pub(crate) async fn runtime(
        &self,
        client: &Client,
        key: &Key,
        job: &TrainJob,
        seen: Instant,
    ) -> Result<Option<Arc<Runtime>>, Error> {
        let reference = &job.spec.runtime_ref;
        let Some(kind) = RuntimeKind::of(reference) else {
            return Ok(None);
        };
        let namespace = match kind {
            RuntimeKind::Namespaced => key.namespace.clone().unwrap_or_default(),
            RuntimeKind::Cluster => String::new(),
        };
        let name = (kind, namespace, reference.name.clone());
        let slot = self.lock().entry(name.clone()).or_default().clone();
        let mut last = slot.lock().await;
        if let Some(read) = last.as_ref().filter(|read| read.began > seen) {
            return Ok(Some(read.runtime.clone()));
        }
        let began = Instant::now();
        let found = read(client, &name).await?.map(Arc::new);
        *last = found.clone().map(|runtime| Read { began, runtime });
        if found.is_none() {
            self.lock().remove(&name);
        }
        Ok(found)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Name, Slot>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn read(client: &Client, (kind, namespace, name): &Name) -> Result<Option<Runtime>, Error> {
    let client = client.clone();
    match kind {
        RuntimeKind::Namespaced => get::<TrainingRuntime>(Api::namespaced(client, namespace), name).await,
        RuntimeKind::Cluster => get::<ClusterTrainingRuntime>(Api::all(client), name).await,
    }
}

async fn get<K>(api: Api<Guarded<K>>, name: &str) -> Result<Option<Runtime>, Error>
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Into<Runtime>,
{
    let what = || format!("{} {name}", K::kind(&()));
    match api.get_opt(name).await.doing(|| format!("get {}", what()))? {
        None => Ok(None),
        Some(DeserializeGuard(Ok(found))) => Ok(Some(found.into())),
        Some(DeserializeGuard(Err(broken))) => Err(Error::UnreadableOther {
            what: what(),
            why: broken.error,
        }),
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::{Request, Response};
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    /// An API server that counts, and has a new version of every runtime each time.
    fn server() -> (Client, Arc<AtomicUsize>) {
        let reads = Arc::new(AtomicUsize::new(0));
        let counter = reads.clone();
        let answer = move |_: Request<Body>| {
            let version = counter.fetch_add(1, Ordering::Relaxed) + 1;
            let runtime = json!({"metadata": {"name": "a", "resourceVersion": version.to_string()}});
            async move { Ok::<_, Infallible>(Response::new(Body::from(runtime.to_string().into_bytes()))) }
        };
        (Client::new(tower::service_fn(answer), "default"), reads)
    }

    #[tokio::test]
    async fn a_read_serves_all_jobs_that_were_seen_before_it_and_no_later_one() {
        let (client, reads) = server();
        let cache = RuntimeCache::default();
        let job: TrainJob =
            serde_json::from_value(json!({"metadata": {"name": "j"}, "spec": {"runtimeRef": {"name": "a"}}}))
                .unwrap();
        let key = Key::new("j");
        let version = async |seen| {
            let runtime = cache.runtime(&client, &key, &job, seen).await.unwrap().unwrap();
            runtime.metadata.resource_version.clone().unwrap()
        };
        let early = Instant::now();
        assert_eq!(version(early).await, "1");
        assert_eq!(version(early).await, "1");
        assert_eq!(
            version(Instant::now()).await,
            "2",
            "the runtime may have changed since"
        );
        assert_eq!(version(early).await, "2");
        assert_eq!(reads.load(Ordering::Relaxed), 2);
    }
}
