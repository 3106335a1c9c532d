//! What this controller wrote and its watches have not brought back yet: client-go calls it a mutation cache.
//!
//! No client. Without it, a reconcile that follows a write closely would see the object as it was before, and write
//! once more. It saves requests, nothing depends on it: creations never replace an object, and status patches name
//! the version that they were made from.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use kube::Resource;

use crate::controller::key::Key;

/// Objects as the API server answered, by the job that they belong to.
#[derive(Debug)]
pub(crate) struct MutationCache<K>(Mutex<HashMap<Key, Arc<K>>>);

impl<K> Default for MutationCache<K> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K: Resource> MutationCache<K> {
    /// Keeps the answer to a write.
    pub(crate) fn put(&self, key: Key, object: Arc<K>) {
        self.lock().insert(key, object);
    }

    /// Returns the newer one of what the watch has brought and what was written.
    pub(crate) fn newest(&self, key: &Key, watched: Option<Arc<K>>) -> Option<Arc<K>> {
        let mut written = self.lock();
        let Some(own) = written.get(key) else {
            return watched;
        };
        match watched {
            Some(watched) if version(&*watched) >= version(&**own) => {
                written.remove(key);
                Some(watched)
            }
            _ => Some(own.clone()),
        }
    }

    /// Forgets an object that is gone, unless a new one of the same name was written since.
    pub(crate) fn gone(&self, key: &Key, object: &K) {
        let mut written = self.lock();
        if written
            .get(key)
            .is_some_and(|own| own.meta().uid == object.meta().uid)
        {
            written.remove(key);
        }
    }

    /// Forgets the object of a job.
    pub(crate) fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    /// Forgets all objects, after a new list, which does not say which are gone.
    pub(crate) fn clear(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, Arc<K>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The version of an object. Versions of one resource are decimal numbers that grow with every write.
fn version<K: Resource>(object: &K) -> Option<u64> {
    object.meta().resource_version.as_ref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    fn object(uid: &str, version: &str) -> Arc<ConfigMap> {
        let mut object = ConfigMap::default();
        object.metadata.uid = Some(uid.to_owned());
        object.metadata.resource_version = Some(version.to_owned());
        Arc::new(object)
    }

    fn newest(written: &MutationCache<ConfigMap>, watched: Option<Arc<ConfigMap>>) -> Option<String> {
        written
            .newest(&Key::new("a"), watched)
            .and_then(|o| o.metadata.resource_version.clone())
    }

    #[test]
    fn a_write_is_seen_before_its_watch_event() {
        let written = MutationCache::default();
        written.put(Key::new("a"), object("u", "10"));
        assert_eq!(newest(&written, None).as_deref(), Some("10"));
        assert_eq!(newest(&written, Some(object("u", "9"))).as_deref(), Some("10"));
    }

    #[test]
    fn the_watch_wins_once_it_has_caught_up() {
        let written = MutationCache::default();
        written.put(Key::new("a"), object("u", "10"));
        assert_eq!(newest(&written, Some(object("u", "10"))).as_deref(), Some("10"));
        assert_eq!(newest(&written, None), None);
    }

    #[test]
    fn only_the_object_that_is_gone_is_forgotten() {
        let written = MutationCache::default();
        written.put(Key::new("a"), object("new", "10"));
        written.gone(&Key::new("a"), &object("old", "11"));
        assert_eq!(newest(&written, None).as_deref(), Some("10"));
        written.gone(&Key::new("a"), &object("new", "12"));
        assert_eq!(newest(&written, None), None);
    }
}
