//! Times in SQL and in the log.

/// SQL that converts Unix milliseconds to a timestamp. Computes with float8, which is exact to the microsecond and much
/// faster than numeric.
macro_rules! timestamp {
    ($column:literal) => {
        concat!("to_timestamp(", $column, "::float8 / 1000)")
    };
}

pub(super) use timestamp;
