//! What every reconcile shares.
//!
//! Holds the client; makes no call itself.

use std::sync::Arc;

use kube::{Api, Client, Resource};

use super::cache::compared::Compared;
use super::cache::deleted_jobsets::DeletedJobSets;
use super::cache::gang_facts::GangFacts;
use super::cache::mutation_cache::MutationCache;
use super::cache::runtime_cache::RuntimeCache;
use super::cache::watch::{State, Watched};
use super::clock::Clock;
use super::events::Recorder;
use super::key::{Guarded, Key, stored};
use super::metrics::Metrics;
use super::queue::Queue;
use super::queue::backoff::Backoff;
use crate::api::{ClusterTrainingRuntime, JobSet, TrainJob, TrainingRuntime, names};
use crate::plan::Config;

/// What every reconcile shares.
pub(crate) struct Context {
    /// The client.
    pub(crate) client: Client,
    /// The time of day.
    pub(crate) clock: Clock,
    /// All TrainJobs.
    pub(crate) jobs: Watched<TrainJob>,
    /// All JobSets, without their spec but `suspend`.
    pub(crate) jobsets: Watched<JobSet>,
    /// All namespaced runtimes, without their spec.
    pub(crate) runtimes: Watched<TrainingRuntime>,
    /// All cluster runtimes, without their spec.
    pub(crate) cluster_runtimes: Watched<ClusterTrainingRuntime>,
    /// Runtimes that were read.
    pub(crate) runtime_cache: RuntimeCache,
    /// What jobs with a gang depend on.
    pub(crate) gang_facts: GangFacts,
    /// TrainJobs that were written and not seen since.
    pub(crate) written_jobs: MutationCache<Guarded<TrainJob>>,
    /// JobSets that were written and not seen since.
    pub(crate) written_jobsets: MutationCache<Guarded<JobSet>>,
    /// JobSets that were seen to be deleted.
    pub(crate) deleted_jobsets: DeletedJobSets,
    /// Jobs that need not be compared again.
    pub(crate) compared: Compared,
    /// The jobs that wait.
    pub(crate) queue: Queue,
    /// Errors in a row.
    pub(crate) backoff: Backoff<Key>,
    /// Events.
    pub(crate) events: Recorder,
    /// Metrics.
    pub(crate) metrics: Metrics,
    /// What plans depend on.
    pub(crate) config: Config,
}

impl Context {
    /// Returns the API of a kind in the namespace of a job.
    pub(crate) fn api<K>(&self, key: &Key) -> Api<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client.clone(), key.namespace.as_deref().unwrap_or_default())
    }

    /// Returns a TrainJob as it was last seen or written.
    pub(crate) fn job(&self, key: &Key) -> Option<Arc<Guarded<TrainJob>>> {
        let watched = stored(&self.jobs.store, key)?;
        self.written_jobs.newest(key, Some(watched))
    }

    /// Returns the JobSet of a job's name as it was last seen or written.
    pub(crate) fn jobset(&self, key: &Key) -> Option<Arc<Guarded<JobSet>>> {
        let watched = stored(&self.jobsets.store, key);
        self.written_jobsets.newest(key, watched)
    }

    /// Returns how the watch of each kind is doing.
    pub(crate) fn watch_states(&self) -> [(&'static str, State); 4] {
        [
            (names::TRAIN_JOB, self.jobs.state()),
            (names::JOBSET, self.jobsets.state()),
            (names::TRAINING_RUNTIME, self.runtimes.state()),
            (names::CLUSTER_TRAINING_RUNTIME, self.cluster_runtimes.state()),
        ]
    }

    /// Forgets a job that is gone.
    pub(crate) fn forget(&self, key: &Key) {
        self.queue.forget(key);
        self.backoff.forget(key);
        self.written_jobs.forget(key);
        self.deleted_jobsets.forget(key);
        self.compared.forget(key);
        self.gang_facts.forget(key);
    }
}
