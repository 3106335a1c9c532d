//! Strategic merge of the part of a JobSet that a runtime patch may carry.
//!
//! Objects merge member by member; lists with a key merge item by item, in the order that apimachinery gives; all
//! other lists and all scalars are replaced. Patches are typed, so there are no directives, and a null is ignored.
//! Deliberately different from apimachinery: an entry of `env` replaces the old entry whole, and so does a volume that
//! brings another source, because a mix of two is never valid.

use serde_json::{Map, Value};

/// How two lists merge.
enum ListRule {
    /// Items are matched by this member.
    Keyed(&'static str),
    /// Items that the old list lacks are added.
    Union,
    /// The new list replaces the old one.
    Replace,
}

/// Finds the rule of a list by the name of its field (`patchMergeKey` and `patchStrategy` of the API types).
fn rule(field: &str) -> ListRule {
    match field {
        "replicatedJobs" | "containers" | "initContainers" | "volumes" | "imagePullSecrets"
        | "schedulingGates" | "env" => ListRule::Keyed("name"),
        "volumeMounts" => ListRule::Keyed("mountPath"),
        "finalizers" => ListRule::Union,
        _ => ListRule::Replace,
    }
}

/// Merges `patch` into `base`.
pub fn merge(base: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (field, new) in patch {
        match (base.get_mut(field), new) {
            (_, Value::Null) => {}
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (Some(Value::Array(old)), Value::Array(new)) => merge_list(field, old, new),
            _ => {
                base.insert(field.clone(), new.clone());
            }
        }
    }
}

fn merge_list(field: &str, old: &mut Vec<Value>, new: &[Value]) {
    match rule(field) {
        ListRule::Replace => new.clone_into(old),
        ListRule::Union => {
            for item in new {
                if !old.contains(item) {
                    old.push(item.clone());
                }
            }
        }
        ListRule::Keyed(key) => *old = merge_keyed(field, key, std::mem::take(old), new),
    }
}

/// Merges the items that both lists have, and orders the result: items of the new list keep their order, and so do
/// items that only the old list has. One of those precedes an item of both lists if it did so in the old list.
fn merge_keyed(field: &str, key: &str, old: Vec<Value>, new: &[Value]) -> Vec<Value> {
    let same = |a: &Value, b: &Value| a.get(key).is_some() && a.get(key) == b.get(key);
    let place_of = |item: &Value, old: &[(usize, Value)]| old.iter().position(|(_, o)| same(o, item));

    // Split the old list: items that the new list has too, and the others; both keep their old places.
    let (mut shared, left): (Vec<_>, Vec<_>) = old
        .into_iter()
        .enumerate()
        .partition(|(_, item)| new.iter().any(|n| same(n, item)));

    let mut merged = Vec::with_capacity(left.len() + new.len());
    let mut left = left.into_iter().peekable();
    // Follow the new list. Before an item that both have come the others that were before it in the old list.
    for item in new {
        match place_of(item, &shared) {
            Some(found) => {
                let (at, was) = shared.remove(found);
                while let Some((_, before)) = left.next_if(|(place, _)| *place < at) {
                    merged.push(before);
                }
                merged.push(merge_item(field, was, item));
            }
            None => merged.push(item.clone()),
        }
    }
    // The rest of the old list.
    merged.extend(left.map(|(_, item)| item));
    merged
}

fn merge_item(field: &str, old: Value, new: &Value) -> Value {
    match (old, new) {
        (Value::Object(mut old), Value::Object(new))
            if field != "env" && !brings_other_source(field, &old, new) =>
        {
            merge(&mut old, new);
            Value::Object(old)
        }
        _ => new.clone(),
    }
}

/// A volume has one source beside its name; two different ones cannot be merged.
fn brings_other_source(field: &str, old: &Map<String, Value>, new: &Map<String, Value>) -> bool {
    field == "volumes"
        && new
            .keys()
            .any(|source| source != "name" && !old.contains_key(source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn names_after(field: &str, key: &str, old: &str, new: &str) -> String {
        let list = |text: &str| -> Vec<Value> { text.split(' ').map(|n| json!({ key: n })).collect() };
        let mut base = Map::from_iter([(field.to_owned(), Value::Array(list(old)))]);
        merge(
            &mut base,
            &Map::from_iter([(field.to_owned(), Value::Array(list(new)))]),
        );
        base[field]
            .as_array()
            .unwrap()
            .iter()
            .map(|i| i[key].as_str().unwrap())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn merged_lists_keep_the_order_of_apimachinery() {
        assert_eq!(
            names_after("containers", "name", "a b node", "node b"),
            "a node b"
        );
        assert_eq!(
            names_after("imagePullSecrets", "name", "s1 s2", "s3 s2"),
            "s3 s1 s2"
        );
        assert_eq!(names_after("env", "name", "E1 E2 E3", "E3 E9 E1"), "E2 E3 E9 E1");
        assert_eq!(
            names_after("volumeMounts", "mountPath", "/a /b", "/z /b"),
            "/z /a /b"
        );
    }

    #[test]
    fn an_env_entry_is_replaced_whole() {
        let mut base = json!({"env": [{"name": "A", "valueFrom": {"fieldRef": {}}}]});
        merge(
            base.as_object_mut().unwrap(),
            json!({"env": [{"name": "A", "value": ""}]}).as_object().unwrap(),
        );
        assert_eq!(base, json!({"env": [{"name": "A", "value": ""}]}));
    }

    #[test]
    fn a_volume_with_another_source_replaces_the_old_one() {
        let mut base =
            json!({"volumes": [{"name": "v", "emptyDir": {}}, {"name": "c", "configMap": {"name": "x"}}]});
        let patch = json!({"volumes": [{"name": "v", "hostPath": {"path": "/d"}}, {"name": "c", "configMap": {"optional": true}}]});
        merge(base.as_object_mut().unwrap(), patch.as_object().unwrap());
        let wanted = json!({"volumes": [
            {"name": "v", "hostPath": {"path": "/d"}},
            {"name": "c", "configMap": {"name": "x", "optional": true}},
        ]});
        assert_eq!(base, wanted);
    }

    #[test]
    fn maps_merge_and_lists_without_a_key_are_replaced() {
        let mut base = json!({"nodeSelector": {"a": "1"}, "tolerations": [{"key": "x"}], "securityContext": {"fsGroup": 1}});
        let patch = json!({"nodeSelector": {"b": "2"}, "tolerations": [{"key": "y"}], "securityContext": {"runAsUser": 2}});
        merge(base.as_object_mut().unwrap(), patch.as_object().unwrap());
        let wanted = json!({"nodeSelector": {"a": "1", "b": "2"}, "tolerations": [{"key": "y"}],
            "securityContext": {"fsGroup": 1, "runAsUser": 2}});
        assert_eq!(base, wanted);
    }
}
