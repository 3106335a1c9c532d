//! YAML as kubectl reads it, and as any reader of YAML 1.1 or 1.2 reads it back.

use std::fmt;

use serde_json::Value;

/// A document of a stream, or why it cannot be read.
pub(super) type Document = Result<Value, Unreadable>;

/// Text that is no YAML.
#[derive(Debug)]
pub(super) struct Unreadable {
    line: usize,
    column: usize,
    what: String,
    text: String,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}: {}", self.line, self.column, self.what)?;
        if !self.text.trim().is_empty() {
            write!(f, "\n  {:>4} | {}", self.line, self.text)?;
            write!(f, "\n       | {}^", " ".repeat(self.column.saturating_sub(1)))?;
        }
        Ok(())
    }
}

/// Reads a stream of documents one by one, so that a broken one does not hide the others. Empty ones are left out.
pub(super) fn read(stream: &str) -> Vec<Document> {
    documents(stream)
        .into_iter()
        .filter(|(_, text)| {
            text.lines()
                .any(|l| !l.trim().is_empty() && !l.trim_start().starts_with('#'))
        })
        .map(|(first_line, text)| read_one(first_line, text))
        .filter(|document| !matches!(document, Ok(Value::Null)))
        .collect()
}

fn read_one(first_line: usize, text: &str) -> Document {
    // As kubectl does: 0644 is octal.
    let options = serde_saphyr::options! { legacy_octal_numbers: true };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place = error.location();
        let at = |part: Option<u64>| part.and_then(|n| usize::try_from(n).ok()).unwrap_or(1).max(1);
        let line = at(place.map(|p| p.line()));
        let source = text.lines().nth(line - 1).unwrap_or_default().to_owned();
        let what = error.without_snippet().to_string();
        // The place is told in front, for the whole file.
        let what = what.split(" at line ").next().unwrap_or(&what).to_owned();
        Unreadable {
            line: first_line + line - 1,
            column: at(place.map(|p| p.column())),
            what,
            text: source,
        }
    })
}

/// Splits a stream at its `---` lines; each part comes with the number of its first line.
fn documents(stream: &str) -> Vec<(usize, &str)> {
    let mut parts = Vec::new();
    let (mut start, mut start_line, mut offset) = (0, 1, 0);
    for (at, line) in stream.split_inclusive('\n').enumerate() {
        let marker = line
            .strip_prefix("---")
            .is_some_and(|rest| rest.trim().is_empty() || rest.starts_with(' '));
        if marker {
            parts.push((start_line, &stream[start..offset]));
            // What follows the marker on its line belongs to the new document.
            start = offset + 3;
            start_line = at + 1;
        }
        offset += line.len();
    }
    parts.push((start_line, &stream[start..]));
    parts
}

/// Writes one document, without a marker.
pub(super) fn write(value: &Value) -> Result<String, serde_saphyr::ser::Error> {
    let options = serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX };
    serde_saphyr::to_string_with_options(value, options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_broken_document_does_not_hide_the_others() {
        let found = read("a: 1\n---\n# only a comment\n---\nb: [\n--- \nc: 0644\n");
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].as_ref().unwrap(), &json!({"a": 1}));
        assert!(
            found[1].as_ref().unwrap_err().to_string().starts_with("line "),
            "{:?}",
            found[1]
        );
        assert_eq!(found[2].as_ref().unwrap(), &json!({"c": 420}));
    }

    #[test]
    fn the_place_is_that_in_the_whole_file() {
        let found = read("a: 1\n---\nb: 1\nb: 2\n");
        let error = found[1].as_ref().unwrap_err();
        assert_eq!(error.line, 4, "{error}");
    }

    #[test]
    fn what_is_written_is_read_back_as_it_was() {
        let nasty = json!({"yes": "yes", "n": "1e3", "o": "0o17", "h": "0x10", "z": "null", "e": "", "t": "1:30",
            "d": "2001-01-01", "s": "a\n  b\n", "c": "cr\r\nx", "l": ["- a", "# b", ": c"], "i": 1, "b": true,
            "w": "x ".repeat(200), "emoji": "\u{1f600}", "tab": "a\tb\nc", "lead": "  x\ny"});
        let text = write(&nasty).unwrap();
        assert_eq!(read(&text).remove(0).unwrap(), nasty, "{text}");
    }
}
