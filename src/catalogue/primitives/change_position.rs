//! Positions of live lists: where a client is in the changes of a list.

use std::{fmt, str::FromStr};

/// A position in the changes of one list. Positions of one list in one database rise in the order in which transactions
/// commit. As text it is opaque to clients: 48 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct ChangePosition {
    /// The timeline of PostgreSQL. A position of another one, such as before a backup was restored, means nothing.
    pub database: i64,
    pub major: i64,
    /// Orders changes with the same `major`.
    pub minor: i64,
}

/// Digits of each number.
const DIGITS: usize = 16;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a position: 48 hexadecimal digits")]
pub struct ParseChangePositionError;

impl fmt::Display for ChangePosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { database, major, minor } = self;
        write!(f, "{database:016x}{major:016x}{minor:016x}")
    }
}

impl FromStr for ChangePosition {
    type Err = ParseChangePositionError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 3 * DIGITS || !text.as_bytes().iter().all(is_digit) {
            return Err(ParseChangePositionError);
        }
        let number = |index: usize| {
            let digits = &text[index * DIGITS..(index + 1) * DIGITS];
            u64::from_str_radix(digits, 16).map(u64::cast_signed).map_err(|_| ParseChangePositionError)
        };
        Ok(Self { database: number(0)?, major: number(1)?, minor: number(2)? })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_position_reads_back_as_it_was_written(database: i64, major: i64, minor: i64) {
            let position = ChangePosition { database, major, minor };
            prop_assert_eq!(position.to_string().parse(), Ok(position));
        }
    }

    #[test]
    fn other_texts_are_no_positions() {
        for text in
            ["", "5", &"0".repeat(47), &"0".repeat(49), &"g".repeat(48), &"ä".repeat(24), &"F".repeat(48)]
        {
            assert_eq!(text.parse::<ChangePosition>(), Err(ParseChangePositionError), "{text}");
        }
    }
}
