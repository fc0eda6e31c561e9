//! PostgreSQL notifications: wake jobs when a table has work for them.

use std::{sync::Arc, time::Duration};

use tokio::sync::Notify;

use crate::{
    pipeline::leadership::retry::delays,
    store::sql::{Channel, Db},
};

const LONGEST_PAUSE: Duration = Duration::from_secs(10);

/// Signals `wake` at each announcement, and whenever one may have been missed. Never returns.
pub async fn listen(db: Db, channel: Channel, wake: Arc<Notify>) {
    let mut waits = delays();
    loop {
        if let Ok(mut announcements) = db.listen(channel).await {
            waits = delays();
            wake.notify_waiters();
            while announcements.next().await.is_ok() {
                wake.notify_waiters();
            }
        }
        tokio::time::sleep(waits.next().unwrap_or(LONGEST_PAUSE)).await;
    }
}
