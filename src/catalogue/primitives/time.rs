//! The clock of the system.

/// Milliseconds since 1970-01-01 00:00 UTC.
pub type UnixMillis = i64;

pub fn now() -> UnixMillis {
    chrono::Utc::now().timestamp_millis()
}
