//! Sets when each entry of `spec.runtimePatches` was last changed.

use jiff::Timestamp;
use serde_json::Value;

/// Sets the time of each patch. A new entry gets `now` unless it has a time. An unchanged entry keeps its old time,
/// whatever time it is sent with. A changed entry gets `now`.
///
/// Works on the `TrainJob` as JSON, so that nothing else changes. No entries are added, and doing this twice has the
/// same result as doing it once.
pub fn stamp_patches(job: &mut Value, old: Option<&Value>, now: Timestamp) {
    let before = old.map(patches).unwrap_or_default();
    let Some(Value::Array(entries)) = job.pointer_mut("/spec/runtimePatches") else {
        return;
    };
    for entry in entries {
        let known = before
            .iter()
            .find(|was| was.get("manager") == entry.get("manager"));
        let time = match known {
            Some(was) if same(was, entry) => was.get("time").filter(|t| !t.is_null()).cloned(),
            Some(_) => None,
            None => entry.get("time").filter(|t| !t.is_null()).cloned(),
        };
        if let Some(fields) = entry.as_object_mut() {
            let time = time.unwrap_or_else(|| Value::String(format!("{now:.0}")));
            fields.insert("time".to_owned(), time);
        }
    }
}

fn patches(job: &Value) -> &[Value] {
    job.pointer("/spec/runtimePatches")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Reports whether two entries are equal, apart from their times.
fn same(a: &Value, b: &Value) -> bool {
    let said = |entry: &Value| {
        entry
            .get("trainingRuntimeSpec")
            .filter(|spec| !spec.is_null())
            .cloned()
    };
    said(a) == said(b)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn job(patches: Value) -> Value {
        json!({"spec": {"runtimePatches": patches}})
    }

    fn times(new: Value, old: Option<Value>) -> Vec<String> {
        let mut new = job(new);
        stamp_patches(
            &mut new,
            old.map(job).as_ref(),
            "2026-02-03T04:05:06Z".parse().unwrap(),
        );
        patches(&new)
            .iter()
            .map(|p| p["time"].as_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn a_new_entry_gets_now_unless_it_has_a_time() {
        assert_eq!(
            times(
                json!([{"manager": "a.io/a"}, {"manager": "a.io/b", "time": "2020-01-01T00:00:00Z"}]),
                None
            ),
            ["2026-02-03T04:05:06Z", "2020-01-01T00:00:00Z"]
        );
    }

    #[test]
    fn an_unchanged_entry_keeps_its_time_and_a_changed_one_gets_now() {
        let old = json!([
            {"manager": "a.io/a", "time": "2020-01-01T00:00:00Z", "trainingRuntimeSpec": {"template": {}}},
            {"manager": "a.io/b", "time": "2020-01-01T00:00:00Z"},
        ]);
        let new = json!([
            {"manager": "a.io/b", "time": "2021-01-01T00:00:00Z"},
            {"manager": "a.io/a", "time": "2021-01-01T00:00:00Z", "trainingRuntimeSpec": {}},
        ]);
        assert_eq!(
            times(new, Some(old)),
            ["2020-01-01T00:00:00Z", "2026-02-03T04:05:06Z"]
        );
    }
}
