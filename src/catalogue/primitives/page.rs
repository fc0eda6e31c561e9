//! Keyset pagination: requests for a page, and slices of a list.

use std::{fmt, str::FromStr};

use super::Id;

/// A request for a page: the items after a key `K`.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest<K = Id> {
    /// Number of items, already checked against the limit.
    pub first: usize,
    /// Only items after this one.
    pub after: Option<K>,
}

/// Part of a list, in its order.
#[derive(Clone, Debug)]
pub struct Slice<T> {
    pub items: Vec<T>,
    pub has_more: bool,
}

/// Place of an item in a list in descending order of time, then of id: "newest first". Imported notes bring their
/// times, so ids do not show what is new. `created_at` never changes, so neither does a place.
///
/// Other lists have other orders:
///
/// - `coinEntries` by id, because balances were changed in this order;
/// - `entries` of the inbox by id, because an entry gets a new one with each event;
/// - texts of `reviewQueue` by their numbers, the lowest first, because a queue is served in order of arrival;
/// - reported objects by `OLDEST` by the id of the case, because cases are numbered in the order of their first
///   reports;
/// - lists along edges, `ratings` and reports of a case by their own times, because they list the edge, rating or
///   report;
/// - equal likes, heat or members, and most exports, by id, because any order that stays is right;
/// - `feedChanged` by appearance, because what is new to a client is what it did not see.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Moment {
    /// Unix microseconds, the precision of PostgreSQL.
    pub micros: i64,
    pub id: Id,
}

/// Position of an item in a list in descending order of score, then of id. In a list by age the score is the time, in
/// Unix microseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ranked {
    pub score: i64,
    pub id: Id,
}

impl<K> PageRequest<K> {
    /// Rows to read from the database: one more than the page has, to know whether there is a next page.
    pub const fn rows(&self) -> i64 {
        self.first as i64 + 1
    }

    /// Cuts the rows read with [`Self::rows`] down to the page.
    pub fn slice<T>(&self, mut rows: Vec<T>) -> Slice<T> {
        let has_more = rows.len() > self.first;
        rows.truncate(self.first);
        Slice { items: rows, has_more }
    }
}

impl PageRequest<Id> {
    /// Items have lower ids than this.
    pub fn below(&self) -> i64 {
        self.after.map_or(i64::MAX, Id::get)
    }
}

impl PageRequest<Moment> {
    /// Items are before this position.
    pub fn before(&self) -> Moment {
        self.after.unwrap_or(Moment::LAST)
    }
}

impl<T> Default for Slice<T> {
    /// A list without items.
    fn default() -> Self {
        Self { items: Vec::new(), has_more: false }
    }
}

impl<T> Slice<T> {
    pub fn map<U>(self, make: impl FnMut(T) -> U) -> Slice<U> {
        Slice { items: self.items.into_iter().map(make).collect(), has_more: self.has_more }
    }
}

impl Moment {
    /// After every item: the end of the year 9999, the last that RFC 3339 can write.
    pub const LAST: Self = Self { micros: 253_402_300_799_000_000, id: Id::HIGHEST };
    /// The earliest time: the beginning of the year 0, the first that RFC 3339 can write.
    pub const EARLIEST: i64 = -62_167_219_200_000_000;
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.micros, self.id)
    }
}

impl FromStr for Moment {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (micros, id) = text.split_once('.').ok_or(())?;
        let moment = Self { micros: micros.parse().map_err(drop)?, id: id.parse().map_err(drop)? };
        (Self::EARLIEST..=Self::LAST.micros).contains(&moment.micros).then_some(moment).ok_or(())
    }
}

impl Ranked {
    /// After every item.
    pub const LAST: Self = Self { score: i64::MAX, id: Id::HIGHEST };
}

impl fmt::Display for Ranked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.score, self.id)
    }
}

impl FromStr for Ranked {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (score, id) = text.split_once('.').ok_or(())?;
        Ok(Self { score: score.parse().map_err(drop)?, id: id.parse().map_err(drop)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_by_score_reads_back_as_it_was_written() {
        // A list by age has negative scores before 1970.
        for score in [1_763_700_000_123, 0, -1, i64::MIN] {
            let place = Ranked { score, id: "42".parse().unwrap() };
            assert_eq!(place.to_string().parse(), Ok(place));
        }
        for bad in ["", "1", "1.", "1.0", "x.5", "9223372036854775808.5"] {
            assert_eq!(bad.parse::<Ranked>(), Err(()), "{bad}");
        }
    }

    #[test]
    fn a_moment_reads_back_as_it_was_written() {
        for micros in [1_763_700_000_123_456, 0, -1, Moment::EARLIEST] {
            let moment = Moment { micros, id: "42".parse().unwrap() };
            assert_eq!(moment.to_string().parse(), Ok(moment));
        }
        for bad in ["", "1", "1.", "1.0", "x.5", "253402300799000001.5", "-62167219200000001.5"] {
            assert_eq!(bad.parse::<Moment>(), Err(()), "{bad}");
        }
    }
}
