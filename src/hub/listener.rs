//! Keeps hearing the shards' channels. Every doubt (a lost connection, silence) counts as an interruption.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use tokio_util::sync::CancellationToken;

use super::Hub;
use crate::{
    catalogue::Entity,
    store::{
        StoreError, StoreResult,
        redis::{Listener, Message},
    },
};

/// Owners send a heartbeat every 5 s; when all shards are silent for this long, the connection is dead.
const SILENCE: Duration = Duration::from_secs(12);

impl Hub {
    /// Hears changes until cancelled.
    pub async fn run(&self, stop: CancellationToken) {
        stop.run_until_cancelled(self.hear_for_ever()).await;
    }

    async fn hear_for_ever(&self) {
        let backoff = ExponentialBuilder::new()
            .with_min_delay(Duration::from_millis(20))
            .with_max_delay(Duration::from_secs(1))
            .with_jitter()
            .without_max_times();
        let mut delays = backoff.build();
        loop {
            match self.hear_once().await {
                Ok(()) => delays = backoff.build(),
                Err(error) => tracing::debug!(%error, "cannot hear changes"),
            }
            for view in &self.inner.views {
                view.lock().interrupt();
            }
            tokio::time::sleep(delays.next().unwrap_or(Duration::from_secs(1))).await;
        }
    }

    /// From one subscription to its end.
    async fn hear_once(&self) -> StoreResult<()> {
        let mut listener = self.inner.redis.listen().await?;
        let watched = self.inner.views.iter().flat_map(|view| view.lock().resume()).collect();
        self.read_soon(watched);
        self.catch_up_soon();
        tracing::info!("hearing changes");
        let reason = self.hear_messages(&mut listener).await;
        tracing::warn!(%reason, "stopped hearing changes; subscribing again");
        Ok(())
    }

    /// Returns why it ended.
    async fn hear_messages(&self, listener: &mut Listener) -> StoreError {
        loop {
            match tokio::time::timeout(SILENCE, listener.next()).await {
                Ok(Some(Ok(message))) => self.hear(&message),
                Ok(Some(Err(error))) => return error,
                Ok(None) => return StoreError::Unexpected("the connection ended".into()),
                Err(_) => return StoreError::Unexpected(format!("silence for {SILENCE:?}")),
            }
        }
    }

    fn hear(&self, message: &Message) {
        let to_read = self.view(message.shard).lock().hear(message);
        if !to_read.is_empty() {
            self.read_soon(to_read);
        }
    }

    /// Reads entities in the background; what is found reaches their subscribers.
    pub(super) fn read_soon(&self, entities: Vec<Entity>) {
        if entities.is_empty() {
            return;
        }
        let hub = self.clone();
        tokio::spawn(async move {
            let mut delays = ExponentialBuilder::new()
                .with_min_delay(Duration::from_millis(20))
                .with_max_delay(Duration::from_secs(1))
                .with_jitter()
                .without_max_times()
                .build();
            // An outage is waited out, unless nobody watches any more or the next resumption reads anyway.
            while let (_, Err(error)) = hub.counts(&entities).await {
                if !error.is_transient() || !hub.is_hearing() {
                    tracing::debug!(%error, "gave up reading for subscribers");
                    return;
                }
                tokio::time::sleep(delays.next().unwrap_or(Duration::from_secs(1))).await;
            }
        });
    }

    /// Learns how far the logs are folded, for replies that wait.
    fn catch_up_soon(&self) {
        let hub = self.clone();
        tokio::spawn(async move {
            for target in hub.inner.redis.shards().all() {
                if let Ok(Some(meta)) = hub.inner.redis.shard_meta(target).await {
                    let mut view = hub.view(target).lock();
                    for (source, folded) in hub.inner.redis.shards().all().zip(meta.folded) {
                        view.fold_heard(source, folded);
                    }
                }
            }
        });
    }
}
