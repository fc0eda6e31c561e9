//! PostgreSQL notifications: wake jobs when a table has work for them.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::leadership::retry::delays;
use plaudit_store::sql::{
    Db,
    connection::announcements::{self, Channel},
};

/// Signals at each announcement those who wait for its channel, and all of them whenever one may have been
/// missed. Never returns.
pub async fn listen(db: Db, wakes: Vec<(Channel, Arc<Notify>)>) {
    let channels: Vec<Channel> = wakes.iter().map(|(channel, _)| *channel).collect();
    let wake = |is_announced: &dyn Fn(Channel) -> bool| {
        let announced = wakes.iter().filter(|(channel, _)| is_announced(*channel));
        announced.for_each(|(_, wake)| wake.notify_waiters());
    };
    let mut delays = delays();
    loop {
        if let Ok(mut announcements) = announcements::listen(&db, &channels).await {
            delays.reset();
            wake(&|_| true);
            while let Ok(is_announced) = announcements.next().await {
                wake(&is_announced);
            }
        }
        delays.pause().await;
    }
}
