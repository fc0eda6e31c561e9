//! Scalars: counts, versions, times, addresses and documents in JSON.

use async_graphql::Value;
use chrono::{DateTime, Utc};

/// A scalar type of the schema.
pub struct ScalarType {
    pub name: &'static str,
    pub description: &'static str,
    /// Its specification.
    pub url: &'static str,
    pub is_valid: fn(&Value) -> bool,
}

/// The scalar of representations, which the specification of Apollo Federation names.
pub const ANY: &str = "_Any";

/// I-JSON, numbers: "integers in the range [-(2**53)+1, (2**53)-1]".
const WHOLE_NUMBERS: &str = "https://www.rfc-editor.org/rfc/rfc7493#section-2.2";

/// "Base 16 Encoding".
const DIGITS: &str = "https://www.rfc-editor.org/rfc/rfc4648#section-8";

pub const SCALARS: [ScalarType; 6] = [
    ScalarType {
        name: "ChangePosition",
        description: "A position in the changes of one list, opaque to clients. Each event of a list has a later one than \
                      the event before.",
        url: DIGITS,
        is_valid: |value| matches!(value, Value::String(_)),
    },
    ScalarType {
        name: "Count",
        description: "A total: a whole number from 0 to 9007199254740991, which a JavaScript number holds exactly. \
                      Not an Int, because views exceed its range.",
        url: WHOLE_NUMBERS,
        is_valid: is_whole_number,
    },
    ScalarType {
        name: "CountsVersion",
        description: "The version of an object's counts: a whole number from 0 to 9007199254740991. For one object it \
                      never decreases, in queries, mutations and subscriptions alike: ignore counts whose version is \
                      lower than the one that you show.",
        url: WHOLE_NUMBERS,
        is_valid: is_whole_number,
    },
    ScalarType {
        name: "DateTime",
        description: "A time in UTC, to the millisecond: `2026-11-21T09:30:00.000Z`.",
        url: "https://scalars.graphql.org/andimarek/date-time.html",
        is_valid: |value| time(value).is_some(),
    },
    ScalarType {
        name: "JSON",
        description: "A JSON document; the field says what describes it.",
        url: "https://www.rfc-editor.org/rfc/rfc8259",
        is_valid: |_| true,
    },
    ScalarType {
        name: "URL",
        description: "An absolute https address without user name and password, at most 2048 bytes. The page of a note may be http.",
        url: "https://url.spec.whatwg.org/",
        is_valid: |value| matches!(value, Value::String(_)),
    },
];

fn is_whole_number(value: &Value) -> bool {
    match value {
        Value::Number(number) => number.as_u64().is_some_and(|raw| raw < 1 << 53),
        _ => false,
    }
}

/// The time that a `DateTime` means; `None` if it is not valid.
pub fn time(value: &Value) -> Option<DateTime<Utc>> {
    match value {
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_a_number_that_javascript_holds_exactly() {
        assert!(is_whole_number(&Value::from(5_000_000_000_i64)));
        assert!(is_whole_number(&Value::from(9_007_199_254_740_991_i64)));
        for refused in
            [Value::from(9_007_199_254_740_992_i64), Value::from(-1), Value::from("1"), Value::from(1.5)]
        {
            assert!(!is_whole_number(&refused), "{refused}");
        }
    }

    #[test]
    fn a_time_is_a_text_with_an_offset() {
        let nine = time(&Value::from("2026-11-21T09:30:00.000Z"));
        assert!(nine.is_some());
        assert_eq!(time(&Value::from("2026-11-21T10:30:00+01:00")), nine);
        assert_eq!((time(&Value::from("yesterday")), time(&Value::from(1))), (None, None));
    }
}
