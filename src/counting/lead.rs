//! The lead of this process's shards, from its start to its stop.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::{PipelineSetup, PipelineStatus, jobs, leadership::Context, ownership};
use plaudit_store::{
    redis::Redis,
    sql::{Db, connection::announcements::Channel},
};

/// Leads this process's share of the shards until `stop`. Then it persists pending events and hands the shards over.
pub async fn run(
    redis: Redis,
    db: Db,
    setup: PipelineSetup,
    status: PipelineStatus,
    stop: CancellationToken,
) {
    let context = Context::new(redis, db, setup, status);
    let wakes = vec![
        (Channel::Invalidations, Arc::clone(&context.invalidations_announced)),
        (Channel::ReviewQueue, Arc::clone(&context.texts_queued)),
        (Channel::Shards, Arc::clone(&context.shards_announced)),
    ];
    let listening = tokio::spawn(jobs::announcements::listen(context.db.clone(), wakes));
    ownership::sharing::run(context.clone(), stop).await;
    listening.abort();
    context.background.end().await;
}
