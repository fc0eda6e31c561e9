//! The WebSockets that are open, so that a stop can send them elsewhere.

use std::time::Duration;

use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Sockets {
    stopping: CancellationToken,
    open: TaskTracker,
}

impl Sockets {
    /// Has every socket closed with 1012, also those that are opened later. Waits until that is sent, at most
    /// for `bound`.
    pub async fn send_elsewhere(&self, bound: Duration) {
        self.stopping.cancel();
        self.open.close();
        if tokio::time::timeout(bound, self.open.wait()).await.is_err() {
            tracing::warn!(sockets = self.open.len(), "ended without having closed them");
        }
    }

    /// Counts as open until the socket's work has ended.
    pub(super) fn track<F: Future>(&self, work: F) -> impl Future<Output = F::Output> + use<F> {
        self.open.track_future(work)
    }

    pub(super) async fn stopping(&self) {
        self.stopping.cancelled().await;
    }
}
