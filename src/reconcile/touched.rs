//! What was touched lately, window by window of time, so that a window's entities fit into memory.

use std::{collections::BTreeSet, time::Duration};

use crate::{
    catalogue::{Entity, UnixMillis},
    store::{StoreResult, sql::Db},
};

const WINDOW: UnixMillis = 10 * 60 * 1_000;

/// Windows from some time ago until now.
#[derive(Clone, Copy, Debug)]
pub struct Windows {
    next: UnixMillis,
    until: UnixMillis,
    total: u64,
}

impl Windows {
    /// The last one ends at `now`.
    pub const fn since(ago: Duration, now: UnixMillis) -> Self {
        let ago = ago.as_millis() as UnixMillis;
        Self { next: now - ago, until: now, total: (ago as u64).div_ceil(WINDOW as u64) }
    }

    /// How many windows there are in all.
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// What was touched in the next window; `None` at the end.
    pub async fn next(&mut self, db: &Db) -> StoreResult<Option<BTreeSet<Entity>>> {
        if self.next >= self.until {
            return Ok(None);
        }
        let (from, to) = (self.next, (self.next + WINDOW).min(self.until));
        self.next = to;
        // The last window is open: times of actions are those of other machines' clocks.
        let to = if to == self.until { UnixMillis::MAX / 2_000 } else { to };
        db.touched_between(from, to).await.map(Some)
    }
}
