//! How the controller names objects and holds them in memory.

use std::hash::Hash;
use std::sync::Arc;

use kube::core::DeserializeGuard;
use kube::runtime::reflector::{ObjectRef, Store};
use kube::{Resource, ResourceExt};

use crate::api::TrainJob;

/// An object that may not be what its kind promises: one such must not stall the watch of all.
pub(crate) type Guarded<K> = DeserializeGuard<K>;
/// Namespace and name of a TrainJob, and so of its JobSet.
pub(crate) type Key = ObjectRef<Guarded<TrainJob>>;

/// Returns the key of the TrainJob that has an object's name.
pub(crate) fn key_of<K>(object: &Guarded<K>) -> Key
where
    K: Resource<DynamicType = ()>,
    K::DynamicType: Eq + Hash,
{
    let mut key = Key::new(&object.name_any());
    key.namespace = object.namespace();
    key
}

/// Looks the object of a job's name up in a store.
pub(crate) fn stored<K>(store: &Store<Guarded<K>>, key: &Key) -> Option<Arc<Guarded<K>>>
where
    K: Resource + Clone + 'static,
    K::DynamicType: Default + Eq + Hash + Clone,
{
    let mut wanted = ObjectRef::new(&key.name);
    wanted.namespace.clone_from(&key.namespace);
    store.get(&wanted)
}
