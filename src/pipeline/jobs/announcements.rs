//! Wakes parts of the pipeline when there is work for them in a table.

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;

use crate::{
    pipeline::leadership::retry::delays,
    store::sql::{Channel, Db},
};

const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Rings `bell` whenever something is announced, and when it may have been missed. Never returns.
pub async fn listen(db: Db, channel: Channel, bell: Arc<Notify>) {
    let mut waits = delays();
    loop {
        if let Ok(mut announcements) = db.listen(channel).await {
            waits = delays();
            bell.notify_waiters();
            while announcements.next().await.is_ok() {
                bell.notify_waiters();
            }
        }
        tokio::time::sleep(waits.next().unwrap_or(LONGEST_PAUSE)).await;
    }
}
