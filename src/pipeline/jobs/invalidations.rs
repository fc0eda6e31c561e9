//! The one path by which PostgreSQL corrects Redis: drop the named bases and sets, then delete exactly the lines
//! that were read before.

use std::{sync::Arc, time::Duration};

use crate::{
    pipeline::leadership::{Leadership, retry::keep_on},
    primitives::fault::{self, Point},
    store::{StoreError, StoreResult},
};

/// Lines at a time, which may name thousands of entities. Those that name the same one are one correction.
const MOST: usize = 20;
/// Looks by itself this often: an announcement may be missed.
const EVERY: Duration = Duration::from_secs(1);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    keep_on(&leadership, "stale_base", || correct(&leadership)).await
}

/// Handles the lines that are there; waits when there are none.
async fn correct(leadership: &Leadership) -> StoreResult<()> {
    let announced = leadership.context.stale.notified();
    let due = leadership.db().due_invalidations(leadership.lease.shard, MOST).await?;
    if due.ids.is_empty() {
        let _ = tokio::time::timeout(EVERY, announced).await;
        return Ok(());
    }
    let entities: Vec<_> = due.entities.into_iter().collect();
    leadership.redis().invalidate_counts(&entities).await?;
    leadership.redis().invalidate_members(&due.sets).await?;
    fault::reached(Point::AfterInvalidation)?;
    leadership.db().delete_invalidations(&due.ids).await
}
