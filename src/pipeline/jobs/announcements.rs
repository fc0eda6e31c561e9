//! PostgreSQL notifications: wake jobs when a table has work for them.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::{
    pipeline::leadership::retry::delays,
    store::sql::{Db, announcements::Channel},
};

/// Signals `wake` at each announcement, and whenever one may have been missed. Never returns.
pub async fn listen(db: Db, channel: Channel, wake: Arc<Notify>) {
    let mut delays = delays();
    loop {
        if let Ok(mut announcements) = db.listen(channel).await {
            delays.reset();
            wake.notify_waiters();
            while announcements.next().await.is_ok() {
                wake.notify_waiters();
            }
        }
        delays.pause().await;
    }
}
