//! A structural schema, ready to be walked along with a value.
//!
//! Holds what a CRD can say, and only the part that our CRDs use. Patterns and CEL rules are compiled when they are
//! first needed, so that reading a schema is cheap.

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
    /// No type is said: int-or-string.
    #[default]
    #[serde(other)]
    Unsaid,
}

/// The formats that mean something to the API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Format {
    Int32,
    DateTime,
    /// Any other, or none: nothing is checked. Integers have 64 bits.
    #[default]
    #[serde(other)]
    Unchecked,
}

/// Whose items a list has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum ListType {
    /// One value that changes as a whole.
    #[default]
    Atomic,
    /// Scalars, none twice.
    Set,
    /// Objects, none with the same keys twice.
    Map,
}

/// Whether the fields of an object change one by one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum MapType {
    /// They do.
    #[default]
    Granular,
    /// The object changes as a whole.
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
    /// Gives the expression as it is written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Tells whether `text` matches; an expression that is none matches nothing.
    pub(super) fn matches(&self, text: &str) -> bool {
        let regex = self.regex.get_or_init(|| Regex::new(&self.text).ok());
        regex.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

impl Node {
    /// Finds the schema of a field: a property's own, or that of the values of a map.
    pub(super) fn field(&self, name: &str) -> Option<&Self> {
        self.properties
            .get(name)
            .or(self.additional_properties.as_deref())
    }
}
