//! Every file of `golden/cases`: bugs of the field, each with what is right about them in its `#@` lines.
//!
//! `get Kind/name PATH OP JSON` (`==`, `!=`, `in`, `contains`), `qty … == N`, `len … == N`, `lines … ==|unordered LIST`,
//! `absent Kind/name PATH` and `unique Kind/name PATH` are about what is rendered; `accept|reject Kind/name [field=..]
//! [contains=".."] [step=N]` about admission, where N counts the documents of that name; `live` and `repeat` need a
//! cluster. A PATH is separated by slashes (`~1` is a slash in a key); `list[name]` and `list/key=value` pick an item,
//! `list/*` all of them; `@job(J)`, `@tpl(J)`, `@pod(J)` and `@ctr(J,C)` are the Job spec, Pod template, Pod spec and
//! container of replicated job J.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test fails by panicking and prints its summary"
)]

mod program;

use serde_json::Value;

use program::{Pending, Verdict, documents, golden, trainer, verdicts};
use trainer::k8s::quantity::Quantity;

#[test]
fn every_case_holds() {
    let mut files: Vec<_> = std::fs::read_dir(golden("cases"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() > 10, "the cases are there");
    let mut pending = Pending::of("cases");
    for file in files {
        let case = file.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&file).unwrap();
        let path = file.to_str().unwrap();
        let objects = documents(&trainer(&["render", "-f", path]).out);
        let verdicts = verdicts(&trainer(&["validate", "-f", path, "-o", "json"]));
        let lines: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("#@ ")).collect();
        assert!(!lines.is_empty(), "{case} expects nothing");
        for line in lines {
            pending.note(
                &format!("{case}: {line}"),
                judge(line.trim(), &objects, &verdicts),
            );
        }
    }
    pending.finish();
}

/// Judges one line.
fn judge(line: &str, objects: &[Value], verdicts: &[Verdict]) -> Result<(), String> {
    let (verb, rest) = line.split_once(' ').unwrap();
    match verb {
        "accept" | "reject" => return admitted(verb == "accept", rest, verdicts),
        "live" | "repeat" => return Err("needs a cluster".to_owned()),
        _ => {}
    }
    let mut words = rest.splitn(4, ' ');
    let (target, path) = (words.next().unwrap(), words.next().unwrap());
    let (operator, want) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let object = objects
        .iter()
        .find(|o| {
            target
                .split_once('/')
                .is_some_and(|(kind, name)| o["kind"] == kind && o["metadata"]["name"] == name)
        })
        .ok_or("object not found")?;
    let path = expand(path);
    let steps: Vec<String> = path.split('/').map(|step| step.replace("~1", "/")).collect();
    let got = walk(object, &steps);
    if verb == "absent" {
        return got.map_or(Ok(()), |got| Err(format!("got {got}")));
    }
    let got = got.ok_or("value not there")?;
    let want: Value = serde_json::from_str(want).unwrap_or_default();
    let holds = match (verb, operator) {
        ("unique", _) => {
            let items = got.as_array().unwrap();
            items
                .iter()
                .enumerate()
                .all(|(at, item)| !items[..at].contains(item))
        }
        ("qty", _) => Quantity::from_json(&got).unwrap() == Quantity::from_json(&want).unwrap(),
        ("len", _) => got.as_array().map(Vec::len) == want.as_u64().and_then(|n| n.try_into().ok()),
        ("lines", order) => same_lines(&got, &want, order == "=="),
        ("get", "==") => got == want,
        ("get", "!=") => got != want,
        ("get", "in") => want.as_array().unwrap().contains(&got),
        ("get", "contains") => contains(&got, &want),
        other => panic!("{other:?} is no check"),
    };
    if holds { Ok(()) } else { Err(format!("got {got}")) }
}

fn same_lines(got: &Value, want: &Value, in_order: bool) -> bool {
    let lines = got
        .as_str()
        .unwrap()
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty());
    let mut got: Vec<&str> = lines.collect();
    let mut want: Vec<&str> = want
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect();
    if !in_order {
        got.sort_unstable();
        want.sort_unstable();
    }
    got == want
}

fn contains(got: &Value, want: &Value) -> bool {
    match (got, want) {
        (Value::String(text), Value::String(part)) => text.contains(part.as_str()),
        (Value::Array(items), item) => items.contains(item),
        (Value::Object(fields), Value::String(key)) => fields.contains_key(key),
        _ => false,
    }
}

/// Judges an `accept` or `reject` line.
fn admitted(accept: bool, rest: &str, verdicts: &[Verdict]) -> Result<(), String> {
    let (target, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let option = |name: &str| {
        let value = rest.split_once(name)?.1;
        Some(match value.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next().unwrap_or_default(),
            None => value.split(' ').next().unwrap_or_default(),
        })
    };
    let step: usize = option("step=").map_or(1, |n| n.parse().unwrap());
    let verdict = verdicts
        .iter()
        .filter(|v| v.is_of(target))
        .nth(step - 1)
        .ok_or("no verdict on it")?;
    let fields: Vec<&str> = verdict.problems.iter().map(|p| p.field.as_str()).collect();
    if accept {
        return if verdict.allowed {
            Ok(())
        } else {
            Err(format!("refused at {fields:?}"))
        };
    }
    let fits = verdict.problems.iter().any(|problem| {
        option("field=").is_none_or(|field| problem.field.starts_with(field))
            && option("contains=").is_none_or(|text| problem.message.contains(text))
    });
    if !verdict.allowed && fits {
        Ok(())
    } else {
        Err(format!("refused at {fields:?}"))
    }
}

/// Writes the short forms of a path out.
fn expand(path: &str) -> String {
    let Some(rest) = path.strip_prefix('@') else {
        return path.to_owned();
    };
    let (form, rest) = rest.split_once('(').unwrap();
    let (arguments, rest) = rest.split_once(')').unwrap();
    let (job, container) = arguments.split_once(',').unwrap_or((arguments, ""));
    let job = format!("spec/replicatedJobs[{job}]/template/spec");
    let expanded = match form {
        "job" => job,
        "tpl" => format!("{job}/template"),
        "pod" => format!("{job}/template/spec"),
        "ctr" => format!("{job}/template/spec/containers[{container}]"),
        other => panic!("@{other} is no short form"),
    };
    expanded + rest
}

/// Follows a path.
fn walk(value: &Value, steps: &[String]) -> Option<Value> {
    let Some((step, rest)) = steps.split_first() else {
        return Some(value.clone());
    };
    let named = |list: &Value, key: &str, wanted: &str| {
        let is_wanted = |item: &&Value| match item.get(key) {
            Some(Value::String(text)) => text == wanted,
            Some(other) => format!("{other}") == wanted,
            None => false,
        };
        list.as_array()?.iter().find(is_wanted).cloned()
    };
    if step == "*" {
        return Some(
            value
                .as_array()?
                .iter()
                .map(|item| walk(item, rest).unwrap_or_default())
                .collect(),
        );
    }
    if let Some((list, name)) = step.strip_suffix(']').and_then(|step| step.split_once('[')) {
        return walk(&named(value.get(list)?, "name", name)?, rest);
    }
    match (value, step.split_once('=')) {
        (Value::Array(_), Some((key, wanted))) => walk(&named(value, key, wanted)?, rest),
        (Value::Object(fields), _) => walk(fields.get(step)?, rest),
        _ => None,
    }
}
