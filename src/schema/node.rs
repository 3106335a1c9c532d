//! A structural schema, parsed for walks along with a value.
//!
//! Has only the keywords that our CRDs use. Patterns and CEL rules are compiled when they are first needed, so that
//! parsing a schema is cheap.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::rule::Rule;

/// The schema of one value.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Node {
    #[serde(rename = "type")]
    pub(super) kind: Kind,
    pub(super) format: Format,
    pub(super) properties: BTreeMap<String, Node>,
    pub(super) additional_properties: Option<Box<Node>>,
    pub(super) items: Option<Box<Node>>,
    pub(super) required: Vec<String>,
    pub(super) default: Option<Value>,
    #[serde(rename = "enum")]
    pub(super) allowed: Vec<Value>,
    pub(super) pattern: Option<Pattern>,
    pub(super) minimum: Option<i64>,
    pub(super) maximum: Option<i64>,
    pub(super) min_length: Option<usize>,
    pub(super) max_length: Option<usize>,
    pub(super) min_items: Option<usize>,
    pub(super) max_items: Option<usize>,
    pub(super) min_properties: Option<usize>,
    pub(super) max_properties: Option<usize>,
    #[serde(rename = "x-kubernetes-list-type")]
    pub(super) list: ListType,
    #[serde(rename = "x-kubernetes-list-map-keys")]
    pub(super) keys: Vec<String>,
    #[serde(rename = "x-kubernetes-map-type")]
    pub(super) map: MapType,
    #[serde(rename = "x-kubernetes-int-or-string")]
    pub(super) int_or_string: bool,
    #[serde(rename = "x-kubernetes-preserve-unknown-fields")]
    pub(super) preserve_unknown: bool,
    #[serde(rename = "x-kubernetes-validations")]
    pub(super) rules: Vec<Rule>,
}

/// The JSON type of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    /// No type: int-or-string.
    #[default]
    #[serde(other)]
    Unsaid,
}

/// The formats that the API server checks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Format {
    Int32,
    DateTime,
    /// Any other, or none. Integers have 64 bits.
    #[default]
    #[serde(other)]
    Unchecked,
}

/// How a list identifies its items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ListType {
    /// Not at all: it changes as a whole.
    #[default]
    Atomic,
    /// By their values, which are scalars.
    Set,
    /// By their keys.
    Map,
}

/// How an object changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MapType {
    /// One by one.
    #[default]
    Granular,
    /// As a whole.
    Atomic,
}

/// A regular expression of a schema; unanchored, as everywhere in JSON schema.
#[derive(Debug, Deserialize)]
#[serde(from = "String")]
pub(super) struct Pattern {
    text: String,
    regex: OnceLock<Option<Regex>>,
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self {
            text,
            regex: OnceLock::new(),
        }
    }
}

impl Pattern {
    /// Returns the text of the expression.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Reports whether `text` matches. An invalid expression matches nothing.
    pub(super) fn matches(&self, text: &str) -> bool {
        let regex = self.regex.get_or_init(|| Regex::new(&self.text).ok());
        regex.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

impl Node {
    /// Returns the schema of a field: a property, or a value of a map.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        self.properties
            .get(name)
            .or(self.additional_properties.as_deref())
    }
}
