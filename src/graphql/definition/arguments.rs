//! Arguments of a field: validated by the engine, with defaults.

use std::borrow::Cow;

use async_graphql::{Name, Value, indexmap::IndexMap};
use chrono::{DateTime, Utc};

use crate::{
    errors::ApiResult,
    request::ids::{TypedId, parse_as},
};

/// The values of a field's arguments, or of an input object's fields. Missing ones are null.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Arguments(pub IndexMap<Name, Value>);

impl Arguments {
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| **value != Value::Null)
    }

    /// Given as null. What is left out is not.
    pub fn is_null(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Null)
    }

    /// The text of a String, an ID or an enum's value.
    pub fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        self.value(name).and_then(text)
    }

    pub fn int(&self, name: &str) -> Option<i32> {
        match self.value(name)? {
            Value::Number(number) => i32::try_from(number.as_i64()?).ok(),
            _ => None,
        }
    }

    pub fn time(&self, name: &str) -> Option<DateTime<Utc>> {
        self.text(name)?.parse().ok()
    }

    /// A list of texts; one text is a list of one.
    pub fn texts(&self, name: &str) -> Vec<Cow<'_, str>> {
        match self.value(name) {
            Some(Value::List(items)) => items.iter().filter_map(text).collect(),
            Some(value) => text(value).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// An input object.
    pub fn input(&self, name: &str) -> Self {
        match self.value(name) {
            Some(Value::Object(fields)) => Self(fields.clone()),
            _ => Self::default(),
        }
    }

    /// A list of input objects; one object is a list of one.
    pub fn inputs(&self, name: &str) -> Vec<Self> {
        let input = |value: &Value| match value {
            Value::Object(fields) => Some(Self(fields.clone())),
            _ => None,
        };
        match self.value(name) {
            Some(Value::List(items)) => items.iter().filter_map(input).collect(),
            Some(value) => input(value).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// # Errors
    /// [`Code::BadUserInput`](crate::Code::BadUserInput) naming the argument, if it is not an id of this kind.
    pub fn id<T: TypedId>(&self, name: &'static str) -> ApiResult<T> {
        parse_as(name, &self.text(name).unwrap_or_default())
    }

    /// `None` without the argument.
    ///
    /// # Errors
    /// As [`Self::id`].
    pub fn optional_id<T: TypedId>(&self, name: &'static str) -> ApiResult<Option<T>> {
        self.text(name).map(|text| parse_as(name, &text)).transpose()
    }

    /// # Errors
    /// As [`Self::id`].
    pub fn ids<T: TypedId>(&self, name: &'static str) -> ApiResult<Vec<T>> {
        self.texts(name).iter().map(|text| parse_as(name, text)).collect()
    }
}

fn text(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Enum(name) => Some(Cow::Borrowed(name)),
        // An ID may be a number.
        Value::Number(number) => Some(Cow::Owned(number.to_string())),
        _ => None,
    }
}
