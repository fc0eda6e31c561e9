//! What was touched lately, window by window of time, so that a window's entities fit into memory.

use std::{collections::BTreeSet, time::Duration};

use crate::{
    catalogue::{Entity, UnixMillis},
    store::{StoreResult, sql::Db},
};

/// Length of the shortest window. A longer time has longer ones, because each looks for new rows by itself.
const SHORTEST: UnixMillis = 10 * 60 * 1_000;
const MOST_WINDOWS: UnixMillis = 100;

/// Windows from some time ago until now.
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

    /// How many windows are left.
    pub const fn left(&self) -> u64 {
        ((self.until - self.next) as u64).div_ceil(self.length as u64)
    }

    /// What was touched in the next window; `None` at the end.
    pub async fn next(&mut self, db: &Db) -> StoreResult<Option<BTreeSet<Entity>>> {
        if self.next >= self.until {
            return Ok(None);
        }
        let (from, to) = (self.next, (self.next + self.length).min(self.until));
        self.next = to;
        // The last window is open: times of actions are those of other machines' clocks.
        let to = if to == self.until { UnixMillis::MAX / 2_000 } else { to };
        db.touched_between(from, to).await.map(Some)
    }
}
