//! What every reconcile shares.
//!
//! Holds the client; makes no call itself.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube::core::DeserializeGuard;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Api, Client, Resource, ResourceExt};

use super::events::Recorder;
use super::gangs::Gangs;
use super::live::Live;
use super::metrics::Metrics;
use super::queue::Queue;
use super::retry::Retries;
use super::watch::Watched;
use super::written::Written;
use crate::api::{ClusterTrainingRuntime, JobSet, TrainJob, TrainingRuntime};
use crate::plan::Config;

/// An object that may not be what its kind promises: one such must not stall the watch of all.
pub(super) type Guarded<K> = DeserializeGuard<K>;
/// Namespace and name of a TrainJob, and so of its JobSet.
pub(super) type Key = ObjectRef<Guarded<TrainJob>>;

/// What every reconcile shares.
pub(super) struct Context {
    /// The client.
    pub client: Client,
    /// All TrainJobs.
    pub jobs: Watched<TrainJob>,
    /// All JobSets, without their spec but `suspend`.
    pub jobsets: Watched<JobSet>,
    /// All namespaced runtimes, without their spec.
    pub runtimes: Watched<TrainingRuntime>,
    /// All cluster runtimes, without their spec.
    pub cluster_runtimes: Watched<ClusterTrainingRuntime>,
    /// Runtimes that were read.
    pub live: Live,
    /// What jobs with a gang depend on.
    pub gangs: Gangs,
    /// TrainJobs that were written and not seen since.
    pub written_jobs: Written<Guarded<TrainJob>>,
    /// JobSets that were written and not seen since.
    pub written_jobsets: Written<Guarded<JobSet>>,
    /// JobSets that were seen to be deleted.
    pub deleted: Deleted,
    /// What need not be compared again.
    pub compared: Compared,
    /// The jobs that wait.
    pub queue: Queue,
    /// Errors in a row.
    pub retries: Retries<Key>,
    /// Events.
    pub events: Recorder,
    /// Metrics.
    pub metrics: Metrics,
    /// What plans depend on.
    pub config: Config,
}

impl Context {
    /// The API of a kind in the namespace of a job.
    pub(super) fn api<K>(&self, key: &Key) -> Api<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), key.namespace.as_deref().unwrap_or_default())
    }

    /// Gives the JobSet of a job's name as it was seen or written last.
    pub(super) fn jobset(&self, key: &Key) -> Option<Arc<Guarded<JobSet>>> {
        let watched = stored(&self.jobsets.store, key.namespace.as_deref(), &key.name);
        self.written_jobsets.newest(key, watched)
    }

    /// Forgets a job that is gone.
    pub(super) fn forget(&self, key: &Key) {
        self.queue.forget(key);
        self.retries.forget(key);
        self.written_jobs.forget(key);
        self.deleted.forget(key);
        self.compared.forget(key);
        self.gangs.forget(key);
    }
}

/// Looks an object up in a store.
pub(super) fn stored<K>(
    store: &Store<Guarded<K>>,
    namespace: Option<&str>,
    name: &str,
) -> Option<Arc<Guarded<K>>>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Default + Eq + std::hash::Hash + Clone,
{
    let mut key = ObjectRef::new(name);
    key.namespace = namespace.map(str::to_owned);
    store.get(&key)
}

/// The last states of JobSets that were seen to be deleted while their TrainJob stayed.
#[derive(Debug, Default)]
pub(super) struct Deleted(Mutex<HashMap<Key, JobSet>>);

impl Deleted {
    /// Keeps the last state of a JobSet.
    pub(super) fn put(&self, key: Key, jobset: JobSet) {
        self.lock().insert(key, jobset);
    }

    /// Returns the last state of a job's own JobSet.
    pub(super) fn of(&self, key: &Key, job: &TrainJob) -> Option<JobSet> {
        let found = self.lock().get(key).cloned()?;
        job.controls(&found.metadata).then_some(found)
    }

    /// Forgets the JobSet of a job.
    pub(super) fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, JobSet>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The suspended jobs whose JobSet was found to be as it should be, by the generations of both: it need not be
/// read and compared again until one of them changes.
#[derive(Debug, Default)]
pub(super) struct Compared(Mutex<HashMap<Key, [Generation; 2]>>);

/// The UID of an object and how often its spec was changed.
type Generation = Option<(String, i64)>;

impl Compared {
    /// Notes that these two agree.
    pub(super) fn agree(&self, key: &Key, job: &TrainJob, jobset: &JobSet) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key.clone(), [generation(job), generation(jobset)]);
    }

    /// Tells whether these two are known to agree.
    pub(super) fn known(&self, key: &Key, job: &TrainJob, jobset: &JobSet) -> bool {
        let now = [generation(job), generation(jobset)];
        now.iter().all(Option::is_some)
            && self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key) == Some(&now)
    }

    /// Forgets a job.
    pub(super) fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

/// Which object it is and how often its spec was changed.
fn generation<K: Resource>(object: &K) -> Generation {
    Some((object.uid()?, object.meta().generation?))
}
