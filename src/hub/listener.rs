//! Keeps hearing the shards' channels. Every doubt (a lost connection, silence) counts as an interruption.

use std::{collections::VecDeque, pin::pin, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder};
use tokio::time::Instant;
use tokio_stream::StreamExt;
use tokio_util::sync::CancellationToken;

use super::Hub;
use crate::{
    catalogue::Entity,
    store::{
        StoreError, StoreResult,
        redis::{ChangeListener, ShardMessage},
    },
};

/// Owners send a heartbeat every 5 s; when all shards are silent for this long, the connection is dead.
const SILENCE: Duration = Duration::from_secs(12);

const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Entities that are read at once in the background: what a busy Redis answers within its timeout.
const PAGE: usize = 500;

fn retry_delays() -> ExponentialBuilder {
    ExponentialBuilder::new()
        .with_min_delay(Duration::from_millis(20))
        .with_max_delay(LONGEST_PAUSE)
        .with_jitter()
        .without_max_times()
}

impl Hub {
    /// Hears changes until cancelled.
    pub async fn run(&self, stop: CancellationToken) {
        metrics::counter!("plaudit_hub_interruptions_total").increment(0);
        while !stop.is_cancelled() {
            let hub = self.clone();
            let mut hearing = tokio::spawn(async move { hub.hear_for_ever().await });
            tokio::select! {
                () = stop.cancelled() => hearing.abort(),
                ended = &mut hearing => tracing::error!(?ended, "the hub's listener ended; beginning anew"),
            }
            self.interrupt();
        }
    }

    fn interrupt(&self) {
        metrics::gauge!("plaudit_hub_hearing").set(0);
        for view in &self.inner.views {
            view.lock().interrupt();
        }
    }

    async fn hear_for_ever(&self) {
        let backoff = retry_delays();
        let mut delays = backoff.build();
        loop {
            let began = Instant::now();
            if let Err(error) = self.hear_once().await {
                tracing::debug!(%error, "cannot hear changes");
            }
            self.interrupt();
            if began.elapsed() > SILENCE {
                delays = backoff.build();
            }
            tokio::time::sleep(delays.next().unwrap_or(LONGEST_PAUSE)).await;
        }
    }

    /// From one subscription to its end.
    async fn hear_once(&self) -> StoreResult<()> {
        let listener = self.inner.redis.listen().await?;
        self.forget(None); // what changed while nothing was heard
        let watched = self.inner.views.iter().flat_map(|view| view.lock().resume()).collect();
        self.read_soon(watched);
        self.catch_up_soon();
        metrics::gauge!("plaudit_hub_hearing").set(1);
        tracing::info!("hearing changes");
        let reason = self.hear_messages(listener).await;
        metrics::counter!("plaudit_hub_interruptions_total").increment(1);
        tracing::warn!(%reason, "stopped hearing changes; subscribing again");
        Ok(())
    }

    /// Returns why it ended.
    async fn hear_messages(&self, listener: ChangeListener) -> StoreError {
        let mut messages = pin!(listener.into_messages().timeout(SILENCE));
        loop {
            match messages.next().await {
                Some(Ok(Ok(message))) => self.hear(&message),
                Some(Ok(Err(error))) => return error,
                Some(Err(_)) => return StoreError::Unexpected(format!("silence for {SILENCE:?}")),
                None => return StoreError::Unexpected("the connection ended".into()),
            }
        }
    }

    fn hear(&self, message: &ShardMessage) {
        for entity in message.invalidated() {
            self.forget(Some(entity));
        }
        let to_read = {
            let mut view = self.view(message.shard).lock();
            let before = view.ticket();
            let to_read = view.hear(message);
            if view.ticket() != before {
                self.forget(None); // a message was missed
            }
            to_read
        };
        if !to_read.is_empty() {
            self.read_soon(to_read);
        }
    }

    /// Reads entities in the background, page by page; what is found reaches their subscribers. An outage
    /// is waited out, unless changes are not heard any more: the next resumption reads everything anew.
    pub(super) fn read_soon(&self, entities: Vec<Entity>) {
        if entities.is_empty() {
            return;
        }
        let hub = self.clone();
        tokio::spawn(async move {
            let mut pages: VecDeque<Vec<Entity>> = entities.chunks(PAGE).map(<[Entity]>::to_vec).collect();
            let mut delays = retry_delays().build();
            while let Some(page) = pages.pop_front() {
                let (_, Err(error)) = hub.counts(&page).await else {
                    delays = retry_delays().build();
                    continue;
                };
                if !hub.is_hearing() {
                    return;
                }
                if !error.is_transient() {
                    tracing::error!(%error, "cannot read for subscribers; trying again");
                }
                pages.push_back(page);
                tokio::time::sleep(delays.next().unwrap_or(LONGEST_PAUSE)).await;
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
