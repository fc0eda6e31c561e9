//! The one path by which PostgreSQL corrects Redis: drop the named bases and sets, then delete exactly the lines
//! that were read before.

use std::{sync::Arc, time::Duration};

use super::{retry::keep_on, tenure::Tenure};
use crate::{
    primitives::fault::{self, Point},
    store::{StoreError, StoreResult},
};

/// Lines at a time, which may name thousands of entities. Those that name the same one are one correction.
const MOST: usize = 20;
/// Looks by itself this often: an announcement may be missed.
const EVERY: Duration = Duration::from_secs(1);

pub async fn run(tenure: Arc<Tenure>) -> StoreError {
    keep_on(&tenure, "stale_base", || correct(&tenure)).await
}

/// Handles the lines that are there; waits when there are none.
async fn correct(tenure: &Tenure) -> StoreResult<()> {
    let announced = tenure.context.stale.notified();
    let due = tenure.db().stale_lines(tenure.lease.shard, MOST).await?;
    if due.ids.is_empty() {
        let _ = tokio::time::timeout(EVERY, announced).await;
        return Ok(());
    }
    let entities: Vec<_> = due.entities.into_iter().collect();
    tenure.redis().drop_bases(&entities).await?;
    tenure.redis().drop_members(&due.sets).await?;
    fault::reached(Point::AfterDrop)?;
    tenure.db().delete_stale_lines(&due.ids).await
}
