//! Identifiers: positive integers below 2^53, so that Lua's and JavaScript's numbers hold them exactly.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An entity's number, for any kind. Ids rise with creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Id(i64);

/// The number is not in `1..=Id::MAX`.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("an id is a whole number from 1 to {max}", max = Id::MAX)]
pub struct IdOutOfRange;

impl Id {
    /// The largest integer that a double holds exactly.
    pub const MAX: i64 = (1 << 53) - 1;
    pub const HIGHEST: Self = Self(Self::MAX);

    pub const fn get(self) -> i64 {
        self.0
    }
}

impl TryFrom<i64> for Id {
    type Error = IdOutOfRange;

    fn try_from(raw: i64) -> Result<Self, IdOutOfRange> {
        if (1..=Self::MAX).contains(&raw) { Ok(Self(raw)) } else { Err(IdOutOfRange) }
    }
}

impl std::str::FromStr for Id {
    type Err = IdOutOfRange;

    /// Reads plain decimal digits: no sign, no leading zero, so that one id has one spelling.
    fn from_str(text: &str) -> Result<Self, IdOutOfRange> {
        let plain = text.bytes().all(|b| b.is_ascii_digit()) && !text.starts_with('0');
        let raw = text.parse::<i64>().map_err(|_| IdOutOfRange)?;
        if plain { Self::try_from(raw) } else { Err(IdOutOfRange) }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Declares an id that belongs to one kind of entity, so that a note's id cannot stand in for a user's.
macro_rules! typed_id {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Id);

        impl $name {
            pub const fn get(self) -> i64 {
                self.0.get()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

typed_id!(UserId, NoteId, CommentId, GroupId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_spelling() {
        assert_eq!("42".parse::<Id>(), Ok(Id(42)));
        for bad in ["", "0", "042", "+42", "-1", "4 2", "x", "9007199254740992", "99999999999999999999"] {
            assert_eq!(bad.parse::<Id>(), Err(IdOutOfRange), "{bad:?}");
        }
    }
}
