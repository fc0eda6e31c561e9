//! Cache invalidation: the one path by which a change in PostgreSQL reaches Redis. It deletes the counters and
//! sets that invalidations name, then deletes exactly those invalidations. A kill in between only repeats a drop.

use std::{sync::Arc, time::Duration};

use crate::{
    pipeline::leadership::{Leadership, retry::repeat},
    primitives::fault::{self, Point},
    store::{StoreError, StoreResult},
};

/// Invalidations at a time; each may name hundreds of entities. An entity that several of them name is dropped once.
const MAX_INVALIDATIONS: usize = 20;
/// Reads the table this often without an announcement: one may be missed.
const EVERY: Duration = Duration::from_secs(1);

pub async fn run(leadership: Arc<Leadership>) -> StoreError {
    repeat(&leadership, "invalidate", || invalidate(&leadership)).await
}

/// Applies the due invalidations; waits if there are none.
async fn invalidate(leadership: &Leadership) -> StoreResult<()> {
    let announced = leadership.context.invalidations_announced.notified();
    let due = leadership.db().due_invalidations(leadership.lease.shard, MAX_INVALIDATIONS).await?;
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
