//! `spec.trainer.resourcesPerNode`: merged by resource name over what the runtime's training container has.

use serde_json::{Map, Value};

use super::draft::Draft;
use super::framework::{Framework, Part, takers};
use crate::k8s::json as k8s_json;
use crate::k8s::upsert;

/// Merges the job's resources into the containers of the nodes. Quantities are replaced, never added, and nothing is
/// copied from limits to requests.
pub(super) fn merge(draft: &mut Draft<'_>, framework: &dyn Framework) {
    let trainer = draft.job.spec.trainer.as_ref();
    let Some(resources) = trainer
        .and_then(|t| t.resources_per_node.as_ref())
        .and_then(|r| r.value().as_object())
    else {
        return;
    };
    for container in takers(draft, framework, Part::Resources) {
        merge_into(draft.container_mut(container), resources);
    }
}

fn merge_into(container: &mut Map<String, Value>, resources: &Map<String, Value>) {
    let merged = container
        .entry("resources")
        .or_insert_with(|| Value::Object(Map::new()));
    for kind in ["limits", "requests"] {
        if let Some(Value::Object(amounts)) = resources.get(kind) {
            k8s_json::object_mut(merged, &[kind]).extend(amounts.clone());
        }
    }
    if let Some(Value::Array(claims)) = resources.get("claims") {
        let list = k8s_json::list_mut(k8s_json::object_mut(merged, &[]), "claims");
        for claim in claims {
            upsert::by_key(list, "name", claim.clone());
        }
    }
}
