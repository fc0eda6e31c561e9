//! Sizes of a benchmark that the environment may set.

use std::str::FromStr;

pub fn size<T: FromStr>(name: &str, default: T) -> Result<T, T::Err> {
    std::env::var(name).map_or(Ok(default), |value| value.parse())
}
