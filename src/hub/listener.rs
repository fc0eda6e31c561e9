//! Subscription to the shards' channels. An event that may have lost a message (a lost connection, silence, an
//! overflow) counts as an interruption, after which all watched entities are read again.

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

/// Time without any message after which the connection counts as dead. Owners send a heartbeat every 5 s.
const SILENCE: Duration = Duration::from_secs(12);
/// Pauses between two subscriptions.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl Hub {
    /// Receives changes until `stop`, then ends all tasks of the hub.
    pub async fn run(&self, stop: CancellationToken) {
        interruptions().increment(0);
        while !stop.is_cancelled() {
            let mut tasks = JoinSet::new();
            let hub = self.clone();
            tasks.spawn(async move { hub.receive_forever().await });
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

    async fn receive_forever(&self) {
        let mut delays = RetryDelays::between(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            let began = Instant::now();
            if let Err(error) = self.subscribe_once().await {
                tracing::debug!(%error, "cannot subscribe to changes");
            }
            self.interrupt();
            if began.elapsed() > SILENCE {
                delays.reset();
            }
            delays.pause().await;
        }
    }

    /// Subscribes, and receives messages until the subscription ends.
    async fn subscribe_once(&self) -> StoreResult<()> {
        let listener = self.inner.redis.listen().await?;
        *self.inner.queue.lock() = Some(listener.queue());
        self.invalidated(None); // changes may have been missed before the subscription
        let watched = self.inner.views.iter().flat_map(|view| view.lock().resume()).collect();
        self.read_soon(watched);
        self.read_positions_soon();
        metrics::gauge!("plaudit_hub_hearing").set(1);
        tracing::info!("receiving changes");
        let reason = self.receive_messages(listener).await;
        interruptions().increment(1);
        tracing::warn!(%reason, "no longer receiving changes; subscribing again");
        Ok(())
    }

    /// Returns why the subscription ended.
    async fn receive_messages(&self, mut listener: ChangeListener) -> StoreError {
        loop {
            match tokio::time::timeout(SILENCE, listener.next()).await {
                Ok(Some(Ok(ChannelEvent::Message(message)))) => self.receive(&message),
                Ok(Some(Ok(ChannelEvent::Overflow(shard)))) => self.overflowed(shard),
                Ok(Some(Err(error))) => return error,
                Ok(None) => return StoreError::Unexpected("the connection ended".into()),
                Err(_) => return StoreError::Unexpected(format!("no message for {SILENCE:?}")),
            }
            // Under load the queue always has a message, so this task must yield to the runtime by itself.
            tokio::task::consume_budget().await;
        }
    }

    fn receive(&self, message: &ShardMessage) {
        for entity in message.invalidated() {
            self.invalidated(Some(entity));
        }
        let to_read = {
            let mut view = self.view(message.shard).lock();
            let before = view.ticket();
            let to_read = view.receive(message);
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
            "messages of a shard were dropped, because its queue was full; reading its watched entities again"
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
