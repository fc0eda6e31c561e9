//! Times in SQL and in the log.

/// SQL for "a timestamp from Unix milliseconds".
macro_rules! timestamp {
    ($column:literal) => {
        concat!("to_timestamp(", $column, " / 1000.0)")
    };
}

pub(super) use timestamp;
