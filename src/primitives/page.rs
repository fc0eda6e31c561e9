//! Keyset pages: where to begin, how much to read, whether there is more.

use super::Id;

/// A page of a list that is ordered by falling id.
#[derive(Clone, Copy, Debug)]
pub struct PageRequest {
    /// Items wanted, already checked against the limit.
    pub first: usize,
    /// Only items older than this one.
    pub before: Option<Id>,
}

/// Part of a list, newest first.
#[derive(Clone, Debug)]
pub struct Slice<T> {
    pub items: Vec<T>,
    pub has_more: bool,
}

impl PageRequest {
    /// Rows to ask the database for: one more than wanted, which tells whether there is a next page.
    pub const fn rows(self) -> i64 {
        self.first as i64 + 1
    }

    /// Cuts what was read with [`Self::rows`] down to the page.
    pub fn slice<T>(self, mut rows: Vec<T>) -> Slice<T> {
        let has_more = rows.len() > self.first;
        rows.truncate(self.first);
        Slice { items: rows, has_more }
    }
}
