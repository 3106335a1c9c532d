//! JobSets that were seen to be deleted: whether one had ended decides whether its job may run again.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::api::{JobSet, TrainJob};
use crate::controller::key::Key;

/// The last states of JobSets that were seen to be deleted while their TrainJob stayed.
#[derive(Debug, Default)]
pub(crate) struct DeletedJobSets(Mutex<HashMap<Key, JobSet>>);

impl DeletedJobSets {
    /// Keeps the last state of a JobSet.
    pub(crate) fn put(&self, key: Key, jobset: JobSet) {
        self.lock().insert(key, jobset);
    }

    /// Returns the last state of a job's own JobSet.
    pub(crate) fn of(&self, key: &Key, job: &TrainJob) -> Option<JobSet> {
        let found = self.lock().get(key).cloned()?;
        job.controls(&found.metadata).then_some(found)
    }

    /// Forgets the JobSet of a job.
    pub(crate) fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, JobSet>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
