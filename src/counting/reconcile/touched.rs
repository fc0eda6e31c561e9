//! Recently changed entities, in windows of time whose entities fit into memory.

use std::{collections::BTreeSet, time::Duration};

use plaudit_catalogue::{Entity, UnixMillis};
use plaudit_store::{
    StoreResult,
    sql::{Db, counting::touched},
};

/// Length of the shortest window. Longer times use longer windows, because each window costs a search for new rows.
const SHORTEST: UnixMillis = 10 * 60 * 1_000;
const MOST_WINDOWS: UnixMillis = 100;

/// Windows from `ago` until now.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    next: UnixMillis,
    until: UnixMillis,
    length: UnixMillis,
}

impl Windows {
    /// The last one ends at `now`.
    pub fn since(ago: Duration, now: UnixMillis) -> Self {
        let ago = ago.as_millis() as UnixMillis;
        Self { next: now - ago, until: now, length: (ago / MOST_WINDOWS + 1).max(SHORTEST) }
    }

    /// Number of windows left.
    pub const fn left(&self) -> u64 {
        ((self.until - self.next) as u64).div_ceil(self.length as u64)
    }

    /// Entities changed in the next window; `None` at the end.
    pub async fn next(&mut self, db: &Db) -> StoreResult<Option<BTreeSet<Entity>>> {
        if self.next >= self.until {
            return Ok(None);
        }
        let (from, to) = (self.next, (self.next + self.length).min(self.until));
        self.next = to;
        // The last window is open-ended: the times of actions come from other machines' clocks.
        let to = if to == self.until { UnixMillis::MAX / 2_000 } else { to };
        touched::touched_between(db, from, to).await.map(Some)
    }
}
