//! Which suspended jobs need not be compared with their JobSets again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use kube::{Resource, ResourceExt};

use crate::api::{JobSet, TrainJob};
use crate::controller::key::Key;

/// The suspended jobs whose JobSet was found to be as it should be, by the generations of both: it need not be
/// read and compared again until one of them changes.
#[derive(Debug, Default)]
pub(crate) struct Compared(Mutex<HashMap<Key, [Generation; 2]>>);

/// The UID of an object and how often its spec was changed.
type Generation = Option<(String, i64)>;

impl Compared {
    /// Notes that these two agree.
    pub(crate) fn agree(&self, key: &Key, job: &TrainJob, jobset: &JobSet) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(key.clone(), [generation(job), generation(jobset)]);
    }

    /// Reports whether these two are known to agree.
    pub(crate) fn known(&self, key: &Key, job: &TrainJob, jobset: &JobSet) -> bool {
        let now = [generation(job), generation(jobset)];
        now.iter().all(Option::is_some)
            && self.0.lock().unwrap_or_else(PoisonError::into_inner).get(key) == Some(&now)
    }

    /// Forgets a job.
    pub(crate) fn forget(&self, key: &Key) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(key);
    }
}

/// Which object it is and how often its spec was changed.
fn generation<K: Resource>(object: &K) -> Generation {
    Some((object.uid()?, object.meta().generation?))
}
