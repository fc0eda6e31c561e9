//! Subscription to the shards' channels. An event that may have lost a message (a lost connection, silence, an
//! overflow) counts as an interruption, after which all watched entities are read again.

use std::{collections::HashMap, time::Duration};

use tokio::{task::JoinSet, time::Instant};
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{Hub, renew, reread};
use plaudit_catalogue::primitives::{RetryDelays, ShardId};
use plaudit_store::{
    StoreError, StoreResult,
    redis::{
        ChangeListener, ChannelItem, ShardMessage, ShardsOfNode, counts::channel, nodes::shards_of_nodes,
    },
};

/// Time without any message of a shard after which the subscription counts as dead. Owners send a heartbeat every 5 s.
const SILENCE: Duration = Duration::from_secs(12);
const SILENCE_CHECKED_EVERY: Duration = Duration::from_secs(1);
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
            tasks.spawn(async move { hub.receive_from_each_node().await });
            let hub = self.clone();
            tasks.spawn(async move { renew::renew_forever(&hub).await });
            for shard in self.inner.redis.shards().all() {
                let hub = self.clone();
                tasks.spawn(async move { reread::reread_after_overflows(&hub, shard).await });
            }
            tokio::select! {
                () = stop.cancelled() => {}
                ended = tasks.join_next() => tracing::error!(?ended, "a task of the hub ended; restarting"),
            }
            tasks.shutdown().await;
        }
        self.inner.background.end().await;
    }

    async fn receive_from_each_node(&self) {
        let receive = |node: ShardsOfNode| {
            let hub = self.clone();
            AbortOnDropHandle::new(tokio::spawn(async move { hub.receive_forever(&node).await }))
        };
        shards_of_nodes::on_each_node(&self.inner.redis, receive).await;
    }

    /// Receives the changes of a node's shards. Whenever this ends, they are interrupted.
    async fn receive_forever(&self, node: &ShardsOfNode) {
        let mut delays = RetryDelays::between(FIRST_PAUSE, LONGEST_PAUSE);
        let subscription = Subscription { hub: self, shards: node.shards() };
        loop {
            let began = Instant::now();
            if let Err(error) = self.subscribe_once(node).await {
                tracing::debug!(%error, "cannot subscribe to changes");
            }
            subscription.interrupt();
            shards_of_nodes::find_shards_again(&self.inner.redis);
            if began.elapsed() > SILENCE {
                delays.reset();
            }
            delays.pause().await;
        }
    }

    /// Subscribes, and receives messages until the subscription ends.
    async fn subscribe_once(&self, node: &ShardsOfNode) -> StoreResult<()> {
        let listener = channel::listen(node).await?;
        let shards = node.shards();
        for shard in shards.iter() {
            self.inner.queues.lock().insert(*shard, listener.queue());
        }
        self.invalidated(None); // changes may have been missed before the subscription
        shards.iter().for_each(|shard| self.view(*shard).lock().resume());
        reread::reread_soon(self, shards);
        self.hearing().set(self.is_receiving());
        metrics::gauge!("plaudit_hub_hearing").set(u8::from(self.is_receiving()));
        tracing::info!(shards = shards.len(), "the hub receives changes");
        let reason = self.receive_messages(listener, shards).await;
        interruptions().increment(1);
        tracing::warn!(%reason, "the hub no longer receives changes, and subscribes again");
        Ok(())
    }

    /// Returns why the subscription ended.
    async fn receive_messages(&self, mut listener: ChangeListener, shards: &[ShardId]) -> StoreError {
        let mut heard: HashMap<ShardId, Instant> =
            shards.iter().map(|shard| (*shard, Instant::now())).collect();
        let mut checks = tokio::time::interval(SILENCE_CHECKED_EVERY);
        loop {
            let event = tokio::select! {
                biased;
                _ = checks.tick() => match heard.iter().find(|(_, at)| at.elapsed() > SILENCE) {
                    None => continue,
                    Some((shard, _)) => {
                        return StoreError::Unexpected(format!("no message of shard {shard} for {SILENCE:?}"));
                    }
                },
                event = listener.next() => event,
            };
            match event {
                Some(Ok(ChannelItem::Message(message))) => {
                    heard.insert(message.shard, Instant::now());
                    self.receive(&message);
                }
                Some(Ok(ChannelItem::Overflow(shard))) => {
                    heard.insert(shard, Instant::now());
                    self.overflowed(shard);
                }
                Some(Err(error)) => return error,
                None => return StoreError::Unexpected("the connection ended".into()),
            }
            // Under load the queue always has a message, so this task must yield to the runtime by itself.
            tokio::task::consume_budget().await;
        }
    }

    fn receive(&self, message: &ShardMessage) {
        message.changes.iter().for_each(|change| self.given_ids().saw(change.entity));
        for entity in message.changed_rows() {
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
        reread::read_soon(self, to_read);
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

/// The subscription to a node's shards: they are interrupted when it is dropped.
struct Subscription<'a> {
    hub: &'a Hub,
    shards: &'a [ShardId],
}

impl Subscription<'_> {
    fn interrupt(&self) {
        self.hub.hearing().set(false);
        metrics::gauge!("plaudit_hub_hearing").set(0);
        for shard in self.shards {
            self.hub.view(*shard).lock().interrupt();
        }
    }
}

impl Drop for Subscription<'_> {
    fn drop(&mut self) {
        self.interrupt();
    }
}

fn interruptions() -> metrics::Counter {
    metrics::counter!("plaudit_hub_interruptions_total")
}
