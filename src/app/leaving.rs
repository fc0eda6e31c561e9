//! How a process leaves: in which order and over how long it gives up listening, sockets, requests and shards.
//!
//! With `shutdown_spread`, after a signal:
//! 1. `/readyz` answers 503, and shards go to another pipeline process, if there is one;
//! 2. connections are still accepted until balancers have noticed;
//! 3. then the listener is closed, and sockets are closed one by one until the spread is over;
//! 4. requests finish; views are appended; shards that nobody else would take are released at last.
//!
//! Without it, and when the number of shards has changed, all of this happens at once.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::pipeline::PipelineRole;
use crate::http::Sockets;
use plaudit_store::sql::{Db, ownership::sharing};

/// How long running requests may take after the last socket was asked to close.
const FINISH_REQUESTS: Duration = Duration::from_secs(5);
/// How long a stop waits until every socket is closed.
const CLOSE_SOCKETS: Duration = Duration::from_secs(2);
/// How long balancers take to notice that a process is not ready: two probes, every two seconds.
const BALANCERS: Duration = Duration::from_secs(5);

/// When a process leaves.
pub struct Leaving {
    /// A signal, or another number of shards.
    pub stop: CancellationToken,
    /// The signal alone.
    pub signal: CancellationToken,
    /// `shutdown_spread`.
    pub spread: Duration,
    /// Cancelled when no more connections are accepted.
    pub closed: CancellationToken,
}

impl Leaving {
    /// Over how long: nobody is spared by waiting when only the number of shards has changed, because the
    /// process stays.
    fn spread(&self) -> Duration {
        if self.signal.is_cancelled() { self.spread } else { Duration::ZERO }
    }

    fn until_noticed(&self) -> Duration {
        BALANCERS.min(self.spread() / 2)
    }

    /// Serves until the process leaves, then closes sockets and lets running requests finish.
    pub async fn serve(&self, serving: impl Future<Output = ()>, sockets: Sockets) {
        let closing = async {
            self.stop.cancelled().await;
            let until_noticed = self.until_noticed();
            tokio::time::sleep(until_noticed).await;
            self.closed.cancel();
            sockets.close_all(self.spread() - until_noticed, CLOSE_SOCKETS).await;
        };
        let finishing = async { tokio::join!(serving, closing) };
        let too_long = async {
            self.stop.cancelled().await;
            tokio::time::sleep(self.spread() + FINISH_REQUESTS).await;
        };
        tokio::select! {
            _ = finishing => {}
            () = too_long => tracing::warn!("the server stopped with requests under way"),
        }
    }

    /// Gives the shards to another pipeline process while sockets are still open. Returns the role if there is
    /// no other, or no time between the signal and the end.
    pub async fn hand_over(&self, pipeline: Option<PipelineRole>, db: &Db) -> Option<PipelineRole> {
        self.stop.cancelled().await;
        let pipeline = pipeline?;
        if self.spread().is_zero() {
            return Some(pipeline);
        }
        match sharing::has_other_pipeline(db, &pipeline.ownership().0).await {
            Ok(true) => {
                pipeline.stop().await;
                None
            }
            Ok(false) => Some(pipeline),
            Err(error) => {
                tracing::warn!(%error, "cannot find out who else runs the pipeline; the shards are released at last");
                Some(pipeline)
            }
        }
    }
}
