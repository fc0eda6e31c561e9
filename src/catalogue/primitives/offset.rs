//! Offset: a position in one shard's log.

use std::{fmt, str::FromStr};

/// Generation and number of a log entry, written `7-42` as Redis writes stream ids.
///
/// Within a generation numbers are contiguous, so a gap is visible. A generation begins with its
/// genesis marker, number 0. The generation rises when the log lost data, so offsets never decrease. Generation 0 has
/// no entries: it is the position before the first start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Offset {
    pub generation: u64,
    pub number: u64,
}

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is not a log offset (generation-number)")]
pub struct ParseOffsetError(String);

impl Offset {
    pub const fn new(generation: u64, number: u64) -> Self {
        Self { generation, number }
    }

    /// The genesis marker of a generation.
    pub const fn genesis(generation: u64) -> Self {
        Self::new(generation, 0)
    }

    /// Whether `next` may directly follow `self` in a log without loss: the next number, or the
    /// genesis marker of a later generation.
    pub const fn is_followed_by(self, next: Self) -> bool {
        if next.generation == self.generation {
            next.number == self.number + 1
        } else {
            next.generation > self.generation && next.number == 0
        }
    }
}

impl fmt::Display for Offset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.generation, self.number)
    }
}

impl FromStr for Offset {
    type Err = ParseOffsetError;

    fn from_str(text: &str) -> Result<Self, ParseOffsetError> {
        let parse = || {
            let (generation, number) = text.split_once('-')?;
            Some(Self::new(generation.parse().ok()?, number.parse().ok()?))
        };
        parse().ok_or_else(|| ParseOffsetError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_reads_back_as_it_was_written() {
        let offset = Offset::new(7, 42);
        assert_eq!(offset.to_string().parse(), Ok(offset));
        assert!("7".parse::<Offset>().is_err());
    }

    #[test]
    fn only_the_next_number_or_a_later_genesis_follows() {
        let here = Offset::new(7, 42);
        assert!(here.is_followed_by(Offset::new(7, 43)));
        assert!(here.is_followed_by(Offset::genesis(9)));
        assert!(!here.is_followed_by(Offset::new(7, 44)));
        assert!(!here.is_followed_by(Offset::new(8, 1)));
        assert!(!here.is_followed_by(Offset::genesis(7)));
    }
}
