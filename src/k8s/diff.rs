//! How two versions of a Kubernetes object differ: field by field, with typed paths and both values.
//!
//! Knows how Kubernetes identifies the items of lists, and that two spellings of a quantity are equal. Knows nothing
//! of what a difference means: its callers keep the ones that matter to them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::fields;
use super::json::is_empty;
use super::path::{FieldPath, Step};
use super::quantity::Quantity;

/// What happened to a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Change<'a> {
    /// It is new, or has another value.
    Set {
        /// What was there before, if anything was.
        old: Option<&'a Value>,
        /// What is there now.
        new: &'a Value,
    },
    /// A field is gone.
    FieldRemoved(&'a Value),
    /// An item of a list is gone.
    ItemRemoved(&'a Value),
}

impl<'a> Change<'a> {
    /// Returns the new value; `None` if there is none.
    pub fn new_value(self) -> Option<&'a Value> {
        match self {
            Self::Set { new, .. } => Some(new),
            Self::FieldRemoved(_) | Self::ItemRemoved(_) => None,
        }
    }

    /// Reports whether an object as a server stores it (old) lacks something that is wanted (new). Servers set
    /// defaults, and leave out what is empty or zero; they do not add items to lists.
    pub fn is_material(self) -> bool {
        match self {
            Self::Set { old, new } => !(is_empty(new) || old.is_none() && is_zero(new)),
            Self::FieldRemoved(_) => false,
            Self::ItemRemoved(_) => true,
        }
    }
}

/// One difference between two values.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<'a> {
    /// Where they differ. Items of lists are named by their keys.
    pub path: FieldPath,
    /// How they differ.
    pub change: Change<'a>,
}

/// How to compare lists whose items have no keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unkeyed {
    /// As one value.
    Whole,
    /// Item by item if both have the same length, else as one value.
    ByIndex,
}

/// Lists how `new` differs from `old`, in the order of `new`. Nulls count as absent.
pub fn differences<'a>(old: &'a Value, new: &'a Value, unkeyed: Unkeyed) -> Vec<Difference<'a>> {
    let mut walk = Walk {
        unkeyed,
        path: FieldPath::default(),
        found: Vec::new(),
    };
    walk.value(given(Some(old)), new);
    walk.found
}

/// Lists the values below `value` that [`differences`] treats as one, with their paths.
pub fn leaves(value: &Value) -> Vec<(FieldPath, &Value)> {
    let mut found = Vec::new();
    add_leaves(&mut FieldPath::default(), value, &mut found);
    found
}

fn add_leaves<'a>(path: &mut FieldPath, value: &'a Value, found: &mut Vec<(FieldPath, &'a Value)>) {
    let mut below = |step, value| {
        path.push(step);
        add_leaves(path, value, found);
        path.pop();
    };
    match value {
        Value::Null => {}
        Value::Object(members) if !members.is_empty() => {
            members
                .iter()
                .for_each(|(name, value)| below(Step::member(name), value));
        }
        Value::Array(items) => match keys(items) {
            Some(keys) => keys
                .into_iter()
                .zip(items)
                .for_each(|(key, item)| below(Step::Key(key), item)),
            None => found.push((path.clone(), value)),
        },
        _ => found.push((path.clone(), value)),
    }
}

/// The walk through both values at once.
struct Walk<'a> {
    unkeyed: Unkeyed,
    path: FieldPath,
    found: Vec<Difference<'a>>,
}

impl<'a> Walk<'a> {
    fn value(&mut self, old: Option<&'a Value>, new: &'a Value) {
        match (old, new) {
            (Some(old), new) if old == new => {}
            (None, Value::Null) => {}
            (Some(Value::Object(old)), Value::Object(new)) if !new.is_empty() => self.members(old, new),
            (Some(Value::Array(old_items)), Value::Array(new_items)) => {
                self.list((old, old_items), (new, new_items));
            }
            (Some(old), new) if self.is_quantity() && same_quantity(old, new) => {}
            (old, new) => self.report(Change::Set { old, new }),
        }
    }

    fn members(&mut self, old: &'a Map<String, Value>, new: &'a Map<String, Value>) {
        for (name, value) in new {
            let was = given(old.get(name));
            match (was, value) {
                (Some(was), Value::Null) => {
                    self.below(Step::member(name), |walk| walk.report(Change::FieldRemoved(was)));
                }
                _ => self.below(Step::member(name), |walk| walk.value(was, value)),
            }
        }
        for (name, value) in old {
            if !value.is_null() && !new.contains_key(name) {
                self.below(Step::member(name), |walk| {
                    walk.report(Change::FieldRemoved(value));
                });
            }
        }
    }

    fn list(
        &mut self,
        (old, old_items): (Option<&'a Value>, &'a [Value]),
        (new, new_items): (&'a Value, &'a [Value]),
    ) {
        if let (Some(old_keys), Some(new_keys)) = (keys(old_items), keys(new_items)) {
            return self.keyed_items((&old_keys, old_items), (&new_keys, new_items));
        }
        if self.unkeyed == Unkeyed::ByIndex && old_items.len() == new_items.len() {
            for (index, (old, new)) in old_items.iter().zip(new_items).enumerate() {
                self.below(Step::Index(index), |walk| walk.value(given(Some(old)), new));
            }
            return;
        }
        self.report(Change::Set { old, new });
    }

    fn keyed_items(
        &mut self,
        (old_keys, old_items): (&[String], &'a [Value]),
        (new_keys, new_items): (&[String], &'a [Value]),
    ) {
        let old: BTreeMap<_, _> = old_keys.iter().zip(old_items).collect();
        for (key, item) in new_keys.iter().zip(new_items) {
            let was = old.get(key).copied();
            self.below(Step::Key(key.clone()), |walk| walk.value(was, item));
        }
        let new: BTreeSet<_> = new_keys.iter().collect();
        for (key, item) in old_keys.iter().zip(old_items) {
            if !new.contains(key) {
                self.below(Step::Key(key.clone()), |walk| {
                    walk.report(Change::ItemRemoved(item));
                });
            }
        }
    }

    fn below(&mut self, step: Step, visit: impl FnOnce(&mut Self)) {
        self.path.push(step);
        visit(self);
        self.path.pop();
    }

    fn report(&mut self, change: Change<'a>) {
        let path = self.path.clone();
        self.found.push(Difference { path, change });
    }

    fn is_quantity(&self) -> bool {
        match self.path.steps() {
            [.., Step::Field(parent), Step::Field(name) | Step::Key(name)] => {
                fields::is_quantity(parent, name)
            }
            _ => false,
        }
    }
}

/// Returns a value that is not null.
fn given(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

/// Returns the keys of all items of a list; `None` if it is empty, or if items have no keys or share one.
fn keys(items: &[Value]) -> Option<Vec<String>> {
    let keys: Vec<String> = items.iter().map(key).collect::<Option<_>>()?;
    let mut sorted: Vec<&String> = keys.iter().collect();
    sorted.sort_unstable();
    let distinct = sorted.windows(2).all(|pair| pair[0] != pair[1]);
    (distinct && !keys.is_empty()).then_some(keys)
}

/// Returns what identifies an item of a list: its mount path, its port, or its name.
fn key(item: &Value) -> Option<String> {
    let text = |field: &str| item.get(field).and_then(Value::as_str).map(str::to_owned);
    text("mountPath")
        .or_else(|| item.get("containerPort").map(ToString::to_string))
        .or_else(|| text("name"))
}

/// Reports whether a value is what Go's types leave out when they are written: `""`, `false` or 0.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Bool(set) => !set,
        Value::Number(number) => number.as_f64() == Some(0.0),
        _ => is_empty(value),
    }
}

fn same_quantity(old: &Value, new: &Value) -> bool {
    match (Quantity::from_json(old), Quantity::from_json(new)) {
        (Ok(old), Ok(new)) => old == new,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(old: &Value, new: &Value, unkeyed: Unkeyed) -> Vec<String> {
        differences(old, new, unkeyed)
            .iter()
            .map(|difference| match difference.change {
                Change::Set { old: Some(old), new } => format!("{}: {old} -> {new}", difference.path),
                Change::Set { old: None, new } => format!("{}: + {new}", difference.path),
                Change::FieldRemoved(old) => format!("{}: - {old}", difference.path),
                Change::ItemRemoved(old) => format!("{}: - item {old}", difference.path),
            })
            .collect()
    }

    #[test]
    fn fields_and_items_are_named_by_their_keys() {
        let old = json!({"a": 1, "gone": 2, "env": [{"name": "A", "value": "1"}, {"name": "B"}], "labels": {"x.y/z": "1"}});
        let new =
            json!({"a": 1, "env": [{"name": "A", "value": "2"}, {"name": "C"}], "labels": {"x.y/z": "2"}});
        assert_eq!(
            found(&old, &new, Unkeyed::Whole),
            [
                "env[A].value: \"1\" -> \"2\"",
                "env[C]: + {\"name\":\"C\"}",
                "env[B]: - item {\"name\":\"B\"}",
                "labels[x.y/z]: \"1\" -> \"2\"",
                "gone: - 2",
            ]
        );
    }

    #[test]
    fn lists_without_keys_are_compared_whole_or_by_index() {
        let (old, new) = (json!({"args": ["a", "b"]}), json!({"args": ["a", "c"]}));
        assert_eq!(
            found(&old, &new, Unkeyed::Whole),
            ["args: [\"a\",\"b\"] -> [\"a\",\"c\"]"]
        );
        assert_eq!(found(&old, &new, Unkeyed::ByIndex), ["args[1]: \"b\" -> \"c\""]);
        let longer = json!({"args": ["a", "b", "c"]});
        assert_eq!(found(&old, &longer, Unkeyed::ByIndex).len(), 1);
    }

    #[test]
    fn two_ports_of_one_number_have_no_keys() {
        let old = json!({"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP"}]});
        let new = json!({"ports": [{"containerPort": 80}, {"containerPort": 80, "protocol": "SCTP"}]});
        assert_eq!(
            found(&old, &new, Unkeyed::ByIndex),
            ["ports[1].protocol: \"UDP\" -> \"SCTP\""]
        );
    }

    #[test]
    fn quantities_are_equal_however_they_are_written() {
        let resources = |cpu: Value| json!({"limits": {"cpu": cpu, "example.com/gpu": 1}});
        assert!(found(&resources(json!(1)), &resources(json!("1000m")), Unkeyed::Whole).is_empty());
        assert_eq!(
            found(&resources(json!(1)), &resources(json!("2")), Unkeyed::Whole).len(),
            1
        );
        let label = |text: &str| json!({"annotations": {"sizeLimit": text}});
        assert_eq!(found(&label("1"), &label("1000m"), Unkeyed::Whole).len(), 1);
    }

    #[test]
    fn nulls_count_as_absent() {
        assert!(found(&json!({"a": null}), &json!({"b": null}), Unkeyed::Whole).is_empty());
        assert_eq!(
            found(&json!({"a": 1}), &json!({"a": null}), Unkeyed::Whole),
            ["a: - 1"]
        );
    }

    #[test]
    fn defaults_and_left_out_zero_values_are_not_material() {
        let material = |old: Value, new: Value| {
            differences(&old, &new, Unkeyed::ByIndex)
                .iter()
                .any(|difference| difference.change.is_material())
        };
        assert!(!material(
            json!({}),
            json!({"value": "", "readOnly": false, "emptyDir": {}, "env": []})
        ));
        assert!(material(json!({}), json!({"value": "x"})));
        assert!(material(json!({"value": "x"}), json!({"value": ""})));
        assert!(!material(json!({"defaulted": 1}), json!({})));
    }

    #[test]
    fn leaves_are_what_differences_treat_as_one() {
        let value = json!({"a": {"b": 1}, "empty": {}, "args": ["x"], "env": [{"name": "A"}], "none": null});
        let paths: Vec<String> = leaves(&value).iter().map(|(path, _)| path.to_string()).collect();
        assert_eq!(paths, ["a.b", "empty", "args", "env[A].name"]);
    }
}
