//! Appending views to a shard's log, many at once.

use std::time::Duration;

use uuid::Uuid;

use crate::{
    StoreResult,
    redis::{Redis, keys, reply::Reply, results::AppendViewsResult, scripts},
};
use plaudit_catalogue::{event_log::Event, primitives::ShardId};

/// How long a sender's last number is remembered. A bundle that is repeated after that is counted again.
const KEEP_NUMBER: Duration = Duration::from_secs(24 * 60 * 60);

/// Events of one shard that are appended together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ViewBundle {
    /// The shard of the notes.
    pub shard: ShardId,
    /// Rises with each bundle of a sender. A sender sends one bundle at a time.
    pub number: u64,
    /// At least one.
    pub events: Vec<Event>,
}

/// Appends a bundle. Repeating it after an error is safe.
pub async fn append_views(redis: &Redis, sender: Uuid, bundle: &ViewBundle) -> StoreResult<()> {
    let ViewBundle { shard, number, events } = bundle;
    debug_assert!(!events.is_empty(), "a bundle has an event");
    let touched = [keys::meta(*shard), keys::log(*shard), keys::last_views(*shard, sender)];
    let mut cmd = scripts::APPEND_VIEWS.call(&touched);
    cmd.arg(*number).arg(KEEP_NUMBER.as_millis() as u64);
    for event in events {
        cmd.arg(event.to_string());
    }
    let AppendViewsResult::Done = Reply::read(redis.command(&cmd).await?)?.result()?;
    Ok(())
}
