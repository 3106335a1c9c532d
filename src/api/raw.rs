//! JSON that is passed on unchanged.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// JSON that is passed on unchanged, so that fields newer than this program reach the cluster. `T` is its schema, and
/// the type to which [`Raw::parse`] converts it.
pub struct Raw<T> {
    value: Value,
    of: PhantomData<fn() -> T>,
}

impl<T> Raw<T> {
    /// Wraps a JSON value.
    pub fn new(value: Value) -> Self {
        Self {
            value,
            of: PhantomData,
        }
    }

    /// Returns the JSON.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the JSON, to change it.
    pub fn value_mut(&mut self) -> &mut Value {
        &mut self.value
    }

    /// Returns the JSON by value.
    pub fn into_value(self) -> Value {
        self.value
    }

    /// Returns a field; `None` also if the value is not an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.value.get(key)
    }
}

impl<T: DeserializeOwned> Raw<T> {
    /// Parses the JSON as `T`.
    pub fn parse(&self) -> Result<T, serde_json::Error> {
        T::deserialize(&self.value)
    }
}

impl<T> Clone for Raw<T> {
    fn clone(&self) -> Self {
        Self::new(self.value.clone())
    }
}

impl<T> PartialEq for Raw<T> {
    fn eq(&self, other: &Self) -> bool {
        self.value == other.value
    }
}

impl<T> fmt::Debug for Raw<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

impl<T> Serialize for Raw<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<'de, T> Deserialize<'de> for Raw<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::new)
    }
}

impl<T: JsonSchema> JsonSchema for Raw<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}
