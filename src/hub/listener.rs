//! Subscription to the shards' channels. Whatever may have missed a message (a lost connection, silence, an overflow)
//! counts as an interruption, after which all that is watched is read again.

use std::time::Duration;

use tokio::{task::JoinSet, time::Instant};
use tokio_util::sync::CancellationToken;

use super::Hub;
use crate::{
    primitives::{RetryDelays, ShardId},
    store::{
        StoreError, StoreResult,
        redis::{ChangeListener, ChannelEvent, ShardMessage},
    },
};

/// Owners send a heartbeat every 5 s; when all shards are silent for this long, the connection is dead.
const SILENCE: Duration = Duration::from_secs(12);
/// Pauses between two subscriptions.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl Hub {
    /// Hears changes until cancelled, and ends all tasks of the hub then.
    pub async fn run(&self, stop: CancellationToken) {
        interruptions().increment(0);
        while !stop.is_cancelled() {
            let mut tasks = JoinSet::new();
            let hub = self.clone();
            tasks.spawn(async move { hub.hear_for_ever().await });
            for shard in self.inner.redis.shards().all() {
                let hub = self.clone();
                tasks.spawn(async move { hub.reread_after_overflows(shard).await });
            }
            tokio::select! {
                () = stop.cancelled() => {}
                ended = tasks.join_next() => tracing::error!(?ended, "a task of the hub ended; restarting"),
            }
            tasks.shutdown().await;
            self.interrupt();
        }
        self.inner.background.end().await;
    }

    fn interrupt(&self) {
        metrics::gauge!("plaudit_hub_hearing").set(0);
        for view in &self.inner.views {
            view.lock().interrupt();
        }
    }

    async fn hear_for_ever(&self) {
        let mut delays = RetryDelays::between(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            let began = Instant::now();
            if let Err(error) = self.hear_once().await {
                tracing::debug!(%error, "cannot hear changes");
            }
            self.interrupt();
            if began.elapsed() > SILENCE {
                delays.reset();
            }
            delays.pause().await;
        }
    }

    /// From one subscription to its end.
    async fn hear_once(&self) -> StoreResult<()> {
        let listener = self.inner.redis.listen().await?;
        *self.inner.queue.lock() = Some(listener.queue());
        self.invalidated(None); // changes may have been missed while nothing was heard
        let watched = self.inner.views.iter().flat_map(|view| view.lock().resume()).collect();
        self.read_soon(watched);
        self.read_positions_soon();
        metrics::gauge!("plaudit_hub_hearing").set(1);
        tracing::info!("hearing changes");
        let reason = self.hear_messages(listener).await;
        interruptions().increment(1);
        tracing::warn!(%reason, "stopped hearing changes; subscribing again");
        Ok(())
    }

    /// Returns why it ended.
    async fn hear_messages(&self, mut listener: ChangeListener) -> StoreError {
        loop {
            match tokio::time::timeout(SILENCE, listener.next()).await {
                Ok(Some(Ok(ChannelEvent::Message(message)))) => self.hear(&message),
                Ok(Some(Ok(ChannelEvent::Overflow(shard)))) => self.overflowed(shard),
                Ok(Some(Err(error))) => return error,
                Ok(None) => return StoreError::Unexpected("the connection ended".into()),
                Err(_) => return StoreError::Unexpected(format!("silence for {SILENCE:?}")),
            }
            // The queue never makes this task wait under load; the runtime must get its turn.
            tokio::task::consume_budget().await;
        }
    }

    fn hear(&self, message: &ShardMessage) {
        for entity in message.invalidated() {
            self.invalidated(Some(entity));
        }
        let to_read = {
            let mut view = self.view(message.shard).lock();
            let before = view.ticket();
            let to_read = view.hear(message);
            if view.ticket() != before {
                self.invalidated(None); // a message was missed
            }
            to_read
        };
        self.read_soon(to_read);
    }

    /// Messages of a shard were dropped: an interruption of that shard alone.
    fn overflowed(&self, shard: ShardId) {
        interruptions().increment(1);
        tracing::warn!(
            shard = shard.0,
            "changes came faster than they were taken in; reading what is watched again"
        );
        self.invalidated(None);
        let mut view = self.view(shard).lock();
        view.interrupt();
        view.resume();
        drop(view);
        self.inner.overflows[shard.index()].notify_one();
    }
}

fn interruptions() -> metrics::Counter {
    metrics::counter!("plaudit_hub_interruptions_total")
}
