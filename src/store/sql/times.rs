//! Times in SQL and in the log.

/// SQL for "a timestamp from Unix milliseconds". By float8, which is exact to the microsecond and takes a fraction
/// of the time that numeric takes.
macro_rules! timestamp {
    ($column:literal) => {
        concat!("to_timestamp(", $column, "::float8 / 1000)")
    };
}

pub(super) use timestamp;
