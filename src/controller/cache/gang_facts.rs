//! What jobs with a gang depend on besides what all jobs do: LimitRanges, RuntimeClasses and PriorityClasses.
//!
//! Client. The first two are watched, from the first job on that has a gang. PriorityClasses are read by name. A right that
//! is missing does not stop a job.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use k8s_openapi::api::core::v1::LimitRange;
use k8s_openapi::api::node::v1::RuntimeClass;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::{Api, Client, ResourceExt};
use tokio::sync::Notify;

use super::watch::{Feed, Watched};
use crate::api::TrainJob;
use crate::controller::error::{Doing, Error};
use crate::controller::key::Key;
use crate::plan::{ClusterFacts, Known, RequiredFacts};

/// What jobs with a gang depend on.
pub(crate) struct GangFacts {
    limit_ranges: Watched<LimitRange>,
    runtime_classes: Watched<RuntimeClass>,
    /// A job has a gang: the watches are to begin.
    needed: Arc<Notify>,
    /// The suspended jobs with a gang, and the RuntimeClasses of their pods.
    dependants: Mutex<HashMap<Key, BTreeSet<String>>>,
}

/// What feeds the stores of a [`GangFacts`].
pub(crate) struct Feeds {
    pub(crate) limit_ranges: Feed<LimitRange>,
    pub(crate) runtime_classes: Feed<RuntimeClass>,
    /// A job has a gang: the watches are to begin.
    pub(crate) needed: Arc<Notify>,
}

impl GangFacts {
    /// Makes empty stores and what feeds them.
    pub(crate) fn new() -> (Self, Feeds) {
        let (limit_ranges, limit_range_feed) = Watched::new();
        let (runtime_classes, runtime_class_feed) = Watched::new();
        let needed = Arc::new(Notify::new());
        let feeds = Feeds {
            limit_ranges: limit_range_feed,
            runtime_classes: runtime_class_feed,
            needed: needed.clone(),
        };
        let gangs = Self {
            limit_ranges,
            runtime_classes,
            needed,
            dependants: Mutex::default(),
        };
        (gangs, feeds)
    }

    /// Returns the facts that the plan of a job requires, and notes on what it depends.
    pub(crate) async fn observe(
        &self,
        client: &Client,
        key: &Key,
        job: &TrainJob,
        required: Option<RequiredFacts>,
    ) -> Result<ClusterFacts, Error> {
        let Some(required) = required else {
            self.forget(key);
            return Ok(ClusterFacts::default());
        };
        // Noted first: what changes from here on wakes the job.
        if job.suspended() {
            self.lock().insert(key.clone(), required.runtime_classes.clone());
        } else {
            self.forget(key);
        }
        self.needed.notify_one();
        self.limit_ranges.settled().await;
        let limit_ranges = self.limit_ranges_of(key);
        if !required.runtime_classes.is_empty() {
            self.runtime_classes.settled().await;
        }
        let classes = self.runtime_classes.store.state().into_iter();
        let runtime_classes = classes
            .filter_map(|class| class.0.as_ref().ok().cloned())
            .filter(|class| required.runtime_classes.contains(&class.name_any()));
        Ok(ClusterFacts {
            limit_ranges,
            runtime_classes: runtime_classes.collect(),
            priority_classes: priority_classes(client, &required.priority_classes).await?,
        })
    }

    /// Returns the LimitRanges of a namespace, by name: their order decides which default counts.
    fn limit_ranges_of(&self, key: &Key) -> Vec<LimitRange> {
        let ranges = self.limit_ranges.store.state().into_iter();
        let mut ranges: Vec<LimitRange> = ranges
            .filter(|range| range.namespace() == key.namespace)
            .filter_map(|range| range.0.as_ref().ok().cloned())
            .collect();
        ranges.sort_by_key(ResourceExt::name_any);
        ranges
    }

    /// Forgets a job.
    pub(crate) fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    /// Lists the jobs that depend on what is wanted.
    pub(crate) fn dependants(&self, wanted: impl Fn(&Key, &BTreeSet<String>) -> bool) -> Vec<Key> {
        let dependants = self.lock();
        let found = dependants.iter().filter(|(key, classes)| wanted(key, classes));
        found.map(|(key, _)| key.clone()).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Key, BTreeSet<String>>> {
        self.dependants.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks PriorityClasses up; those that do not exist are left out.
async fn priority_classes(
    client: &Client,
    names: &BTreeSet<String>,
) -> Result<BTreeMap<String, Known>, Error> {
    let api = Api::<PriorityClass>::all(client.clone());
    let mut found = BTreeMap::new();
    for name in names {
        match api.get_opt(name).await {
            Ok(None) => {}
            Ok(Some(_)) => {
                found.insert(name.clone(), Known::Exists);
            }
            Err(kube::Error::Api(status)) if status.code == 403 => {
                found.insert(name.clone(), Known::Unknown(status.message.clone()));
            }
            Err(error) => return Err(error).doing(|| format!("get PriorityClass {name}")),
        }
    }
    Ok(found)
}
