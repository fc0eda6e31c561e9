//! The one path by which PostgreSQL corrects Redis: drop the named bases, then delete exactly the lines
//! that were read before.

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;

use super::{
    retry::{delays, keep_on},
    tenure::Tenure,
};
use crate::store::{StoreError, StoreResult, sql::Db};

const MOST: usize = 500;
/// Looks by itself this often: an announcement may be missed.
const EVERY: Duration = Duration::from_secs(1);

pub async fn run(tenure: Arc<Tenure>) -> StoreError {
    keep_on(&tenure, "stale_base", || correct(&tenure)).await
}

/// Handles the lines that are there; waits when there are none.
async fn correct(tenure: &Tenure) -> StoreResult<()> {
    let announced = tenure.context.stale.notified();
    let lines = tenure.db().stale_lines(tenure.lease.shard, MOST).await?;
    if lines.is_empty() {
        let _ = tokio::time::timeout(EVERY, announced).await;
        return Ok(());
    }
    let mut entities: Vec<_> = lines.iter().map(|line| line.entity).collect();
    entities.sort_unstable();
    entities.dedup();
    tenure.redis().drop_bases(&entities).await?;
    tenure.db().delete_stale_lines(&lines).await
}

/// Wakes the owners of this process when lines are written anywhere. Never returns.
pub(super) async fn listen(db: Db, stale: Arc<Notify>) {
    let mut waits = delays();
    loop {
        if let Ok(mut listener) = db.listen_stale().await {
            waits = delays();
            stale.notify_waiters();
            while listener.changed().await.is_ok() {
                stale.notify_waiters();
            }
        }
        tokio::time::sleep(waits.next().unwrap_or(EVERY)).await;
    }
}
