//! YAML that 1.1 and 1.2 parsers read identically: in Go, Python and Rust.

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_saphyr::DoubleQuoted;

/// Writes one document, without a `---` line.
pub fn write(value: &Value) -> Result<String, serde_saphyr::ser::Error> {
    // Folding would break a command line at its spaces.
    let options = serde_saphyr::ser_options! { folded_wrap_chars: usize::MAX };
    serde_saphyr::to_string_with_options(&Portable(value), options)
}

/// A value, written so that libyaml can read it, and with it Go, Python and Ruby.
struct Portable<'a>(&'a Value);

impl Serialize for Portable<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Array(items) => serializer.collect_seq(items.iter().map(Portable)),
            Value::Object(fields) => {
                serializer.collect_map(fields.iter().map(|(key, value)| (key, Portable(value))))
            }
            Value::String(text) if !is_block(text) => DoubleQuoted(text).serialize(serializer),
            other => other.serialize(serializer),
        }
    }
}

/// Reports whether a text of several lines can be a block. If one begins with a tab, libyaml reads that as indentation.
fn is_block(text: &str) -> bool {
    !text.contains('\n') || !text.trim_start_matches(['\n', ' ']).starts_with('\t')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Value {
        serde_saphyr::from_str(text).unwrap()
    }

    #[test]
    fn what_is_written_is_read_back_unchanged() {
        let nasty = json!({"yes": "yes", "n": "1e3", "o": "0o17", "h": "0x10", "z": "null", "e": "", "t": "1:30",
            "d": "2001-01-01", "s": "a\n  b\n", "c": "cr\r\nx", "l": ["- a", "# b", ": c"], "i": 1, "b": true,
            "w": "x ".repeat(200), "emoji": "\u{1f600}", "tab": "a\tb\nc", "lead": "  x\ny"});
        assert_eq!(read(&write(&nasty).unwrap()), nasty);
    }

    #[test]
    fn a_text_that_begins_with_a_tab_is_not_written_as_a_block() {
        assert_eq!(write(&json!(["\ta\nb"])).unwrap(), "- \"\\ta\\nb\"\n");
        assert_eq!(write(&json!(["a\n\tb"])).unwrap(), "- |-\n  a\n  \tb\n");
    }

    proptest::proptest! {
        #[test]
        fn any_text_survives_as_key_and_value(key in any_text(), value in any_text()) {
            let written = json!({"list": [value], "map": {key.clone(): value}, key: value});
            let text = write(&written).unwrap();
            proptest::prop_assert_eq!(read(&text), written, "{}", text);
        }
    }

    /// Returns texts of any characters, and of those with a meaning in YAML.
    fn any_text() -> impl proptest::strategy::Strategy<Value = String> {
        proptest::prop_oneof![
            "\\PC*",
            "(?s).*",
            "[-?:,#&*!|>'\"%@`{}\\[\\]~=<. \n\ta1eyno_+x]{0,12}"
        ]
    }
}
