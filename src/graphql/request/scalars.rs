//! Scalars: counts, versions and times in JSON.

use async_graphql::{InputValueError, InputValueResult, Scalar, ScalarType, Value};
use chrono::{SecondsFormat, Utc};

use crate::primitives::Version;

/// A counter's total.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Count(i64);

impl From<i64> for Count {
    /// Negative totals are shown as zero.
    fn from(total: i64) -> Self {
        Self(total.max(0))
    }
}

/// A total: a whole number from 0 to 9007199254740991, which a JavaScript number holds exactly. Not an Int,
/// because views exceed its range.
#[Scalar]
impl ScalarType for Count {
    fn parse(value: Value) -> InputValueResult<Self> {
        let total = whole_number(&value).and_then(|number| i64::try_from(number).ok());
        total.map(Self).ok_or_else(|| InputValueError::expected_type(value))
    }

    fn to_value(&self) -> Value {
        self.0.into()
    }
}

/// A [`Version`] as clients see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CountsVersion(u64);

impl From<Version> for CountsVersion {
    fn from(version: Version) -> Self {
        Self(version.get())
    }
}

/// The version of an object's counts: a whole number from 0 to 9007199254740991. For one object it never
/// decreases, in queries, mutations and subscriptions alike: ignore counts whose version is lower than the
/// one that you show.
#[Scalar]
impl ScalarType for CountsVersion {
    fn parse(value: Value) -> InputValueResult<Self> {
        whole_number(&value).map(Self).ok_or_else(|| InputValueError::expected_type(value))
    }

    fn to_value(&self) -> Value {
        self.0.into()
    }
}

fn whole_number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => number.as_u64().filter(|raw| *raw < 1 << 53),
        _ => None,
    }
}

/// A point in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DateTime(chrono::DateTime<Utc>);

impl From<chrono::DateTime<Utc>> for DateTime {
    fn from(time: chrono::DateTime<Utc>) -> Self {
        Self(time)
    }
}

impl From<DateTime> for chrono::DateTime<Utc> {
    fn from(time: DateTime) -> Self {
        time.0
    }
}

/// A time in UTC, to the millisecond: `2026-11-21T09:30:00.000Z`.
#[Scalar(specified_by_url = "https://scalars.graphql.org/andimarek/date-time.html")]
impl ScalarType for DateTime {
    fn parse(value: Value) -> InputValueResult<Self> {
        match &value {
            Value::String(text) => Ok(Self(text.parse()?)),
            _ => Err(InputValueError::expected_type(value)),
        }
    }

    fn to_value(&self) -> Value {
        self.0.to_rfc3339_opts(SecondsFormat::Millis, true).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_are_numbers_beyond_32_bits_and_never_negative() {
        assert_eq!(Count::from(5_000_000_000).to_value(), Value::from(5_000_000_000_i64));
        assert_eq!(Count::from(-1).to_value(), Value::from(0));
    }

    #[test]
    fn a_version_is_a_number_that_javascript_holds_exactly() {
        let newest = CountsVersion::from(Version::new(Version::MAX_EPOCH, Version::MAX_CHANGE)).to_value();
        assert_eq!(newest, Value::from(9_007_199_254_740_991_i64));
    }

    #[test]
    fn the_text_of_a_time_parses_to_the_same_time() {
        let text = Value::from("2026-11-21T09:30:00.000Z");
        assert_eq!(<DateTime as ScalarType>::parse(text.clone()).unwrap().to_value(), text);
    }
}
