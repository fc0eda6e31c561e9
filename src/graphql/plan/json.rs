//! Scalars as JSON.

use std::io::Write;

use chrono::{DateTime, Datelike, Timelike, Utc};

use crate::definition::values::Scalar;
use plaudit_catalogue::Entity;

/// Appends a scalar.
pub(super) fn write_scalar(bytes: &mut Vec<u8>, value: &Scalar<'_>) {
    match value {
        Scalar::Null => bytes.extend_from_slice(b"null"),
        Scalar::Bool(value) => bytes.extend_from_slice(if *value { b"true" } else { b"false" }),
        Scalar::Int(value) => write_number(bytes, value),
        Scalar::Float(value) => write_number(bytes, value),
        Scalar::Text(text) => write_text(bytes, text),
        Scalar::Name(name) => write_text(bytes, name),
        Scalar::Id(entity) => write_id(bytes, *entity),
        Scalar::Time(time) => write_time(bytes, time),
        Scalar::Json(text) => bytes.extend_from_slice(text.as_bytes()),
        Scalar::List(items) => {
            bytes.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    bytes.push(b',');
                }
                write_scalar(bytes, item);
            }
            bytes.push(b']');
        }
    }
}

/// Writing to memory does not fail.
fn write_number(bytes: &mut Vec<u8>, number: &impl serde::Serialize) {
    let _ = serde_json::to_writer(bytes, number);
}

pub(super) fn write_text(bytes: &mut Vec<u8>, text: &str) {
    let _ = serde_json::to_writer(bytes, text);
}

/// As [`global_id`](crate::request::ids::global_id); no character of it needs an escape.
fn write_id(bytes: &mut Vec<u8>, Entity { kind, id }: Entity) {
    bytes.push(b'"');
    bytes.extend_from_slice(kind.name().as_bytes());
    bytes.push(b'_');
    write_number(bytes, &id.get());
    bytes.push(b'"');
}

/// RFC 3339 in UTC, with milliseconds.
fn write_time(bytes: &mut Vec<u8>, time: &DateTime<Utc>) {
    let (year, month, day) = (time.year(), time.month(), time.day());
    let (hour, minute, second) = (time.hour(), time.minute(), time.second());
    let millis = time.timestamp_subsec_millis() % 1_000;
    let _ = write!(bytes, "\"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z\"");
}
