//! Parses YAML as kubectl does, and reports where it cannot.
//!
//! As in kubectl: `yes`, `on` and `y` are booleans, `0644` is octal, `1_000` and `1e3` are whole numbers, JSON is YAML,
//! `<<` merges. Deliberately different: a duplicate key is refused (kubectl silently uses the last one), and keys such
//! as `y` and `on` stay texts (kubectl turns them into `"true"`).

use std::fmt;

use serde_json::Value;

/// Every whole number up to this one is exact in floating point.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// A document of a stream.
#[derive(Debug)]
pub(super) struct Document {
    /// Line of the stream in which it begins.
    pub(super) line: usize,
    /// Its value, or why it cannot be parsed.
    pub(super) content: Result<Value, Unreadable>,
}

/// A text that is not YAML.
#[derive(Debug)]
pub(super) struct Unreadable {
    pub(super) line: usize,
    pub(super) column: usize,
    what: String,
    text: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if !self.text.trim().is_empty() {
            let margin = self.column.saturating_sub(1);
            write!(
                f,
                "\n  {:>4} | {}\n       | {:margin$}^",
                self.line, self.text, ""
            )?;
        }
        Ok(())
    }
}

/// A part of a stream that holds one document.
struct Part<'a> {
    line: usize,
    /// The text after the `---` marker.
    text: &'a str,
    /// Columns of the marker on the first line.
    margin: usize,
}

impl Part<'_> {
    /// Reports whether there are only blank lines, comments and directives.
    fn is_empty(&self) -> bool {
        self.text.lines().all(says_nothing)
    }

    /// Returns the line of the stream in which its document begins.
    fn first_line(&self) -> usize {
        self.line + self.text.lines().take_while(|line| says_nothing(line)).count()
    }
}

fn says_nothing(line: &str) -> bool {
    line.trim().is_empty() || line.trim_start().starts_with(['#', '%'])
}

/// Parses a stream of documents one by one, so that a broken one does not hide the others. Skips empty ones.
pub(super) fn read(stream: &str) -> Vec<Document> {
    parts(stream.strip_prefix('\u{feff}').unwrap_or(stream))
        .iter()
        .filter(|part| !part.is_empty())
        .map(|part| Document {
            line: part.first_line(),
            content: read_one(part),
        })
        .filter(|document| !matches!(document.content, Ok(Value::Null)))
        .collect()
}

fn read_one(part: &Part<'_>) -> Result<Value, Unreadable> {
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    let read: Result<Value, _> = serde_saphyr::from_str_with_options(part.text, options);
    read.map(with_whole_numbers).map_err(|error| {
        let place = error.location();
        let at = |n: Option<u64>| n.and_then(|n| usize::try_from(n).ok()).unwrap_or(1).max(1);
        let line = at(place.map(|p| p.line()));
        let margin = if line == 1 { part.margin } else { 0 };
        let text = part.text.lines().nth(line - 1).unwrap_or_default();
        Unreadable {
            line: part.line + line - 1,
            column: margin + at(place.map(|p| p.column())),
            what: what(error.without_snippet()),
            text: format!("{}{text}", &"---"[..margin]),
        }
    })
}

fn what(error: &serde_saphyr::Error) -> String {
    if let serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } = error {
        return format!("duplicate key {key:?}; remove one of the two");
    }
    // The message begins with the place in the whole file.
    let text = error.to_string();
    text.split(" at line ").next().unwrap_or(&text).to_owned()
}

/// Turns whole numbers such as `1e3` and `2.0` into integers.
fn with_whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            // The cast is exact within these bounds.
            #[allow(clippy::cast_possible_truncation)]
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() <= EXACT => {
                Value::from(float as i64)
            }
            _ => Value::Number(number),
        },
        Value::Array(items) => items.into_iter().map(with_whole_numbers).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(key, value)| (key, with_whole_numbers(value)))
                .collect(),
        ),
        other => other,
    }
}

/// Splits a stream at its `---` and `...` lines, which no document can contain.
fn parts(stream: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let (mut start, mut line, mut margin, mut offset) = (0, 1, 0, 0);
    for (at, text) in stream.split_inclusive('\n').enumerate() {
        let marks = |mark| {
            text.strip_prefix(mark)
                .is_some_and(|rest: &str| rest.trim().is_empty() || rest.starts_with([' ', '\t']))
        };
        if marks("---") || marks("...") {
            parts.push(Part {
                line,
                text: &stream[start..offset],
                margin,
            });
            // The rest of the line after the marker belongs to the new document.
            start = offset + 3;
            line = at + 1;
            margin = 3;
        }
        offset += text.len();
    }
    parts.push(Part {
        line,
        text: &stream[start..],
        margin,
    });
    parts
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn values(stream: &str) -> Vec<Value> {
        read(stream)
            .into_iter()
            .map(|document| document.content.unwrap())
            .collect()
    }

    fn error(stream: &str) -> Unreadable {
        read(stream)
            .into_iter()
            .find_map(|document| document.content.err())
            .unwrap()
    }

    #[test]
    fn a_broken_document_does_not_hide_the_others() {
        let found =
            read("a: 1\n---\n# only a comment\n---\nb: [\n--- \nc: 0644\n...\n%YAML 1.2\n--- {d: 1}\n");
        assert_eq!(found.len(), 4);
        assert_eq!(found[0].content.as_ref().unwrap(), &json!({"a": 1}));
        assert_eq!(found[1].content.as_ref().unwrap_err().line, 5);
        assert_eq!(found[2].content.as_ref().unwrap(), &json!({"c": 420}));
        assert_eq!(found[3].content.as_ref().unwrap(), &json!({"d": 1}));
        assert_eq!(found[3].line, 10);
    }

    #[test]
    fn places_are_those_in_the_whole_file() {
        let twice = error("a: 1\n---\nb: 1\nb: 2\n");
        assert_eq!((twice.line, twice.column), (4, 1));
        assert_eq!(
            twice.to_string(),
            "duplicate key \"b\"; remove one of the two\n     4 | b: 2\n       | ^"
        );
        let after_marker = error("a: 1\n--- {b: ]}\n");
        assert_eq!((after_marker.line, after_marker.column), (2, 5), "{after_marker}");
    }

    #[test]
    fn plain_values_are_parsed_as_in_kubectl() {
        let read = values(
            "{a: yes, b: on, c: y, d: 0755, e: 0o17, f: 1_000, g: 1e3, h: 2001-01-01, i: ~, j: .5, k: 0b101, l: 1:30, \
             m: 0x1F, n: Off, o: +12, p: 1.0, q: 08, r: !!binary aGVsbG8=, s: TRUE, t: Null, u: 1.5, v: 010, w: -0x1}",
        );
        assert_eq!(
            read[0],
            json!({"a": true, "b": true, "c": true, "d": 493, "e": 15, "f": 1000, "g": 1000, "h": "2001-01-01",
                "i": null, "j": 0.5, "k": 5, "l": "1:30", "m": 31, "n": false, "o": 12, "p": 1, "q": 8, "r": "hello",
                "s": true, "t": null, "u": 1.5, "v": 8, "w": -1})
        );
    }

    #[test]
    fn anchors_merge_keys_json_and_long_texts_are_parsed() {
        let long = "x".repeat(1 << 20);
        assert_eq!(
            values(&format!(
                "a: &a {{x: 1}}\nb: {{<<: *a, y: 2}}\nc: \"{long}\"\nd: |\n  {long}\n"
            ))[0],
            json!({"a": {"x": 1}, "b": {"x": 1, "y": 2}, "c": long, "d": format!("{long}\n")})
        );
        let job = json!({"a": ["\u{1f600} \"q\" \\ /", 1.5, null, true], "long": long});
        assert_eq!(values(&format!("{job:#}\n"))[0], job);
    }
}
