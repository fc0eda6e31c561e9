//! Open connections, WebSockets and event streams: limits per server and per address, and closing all at shutdown.

use std::{
    net::IpAddr,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use axum::http::header;
use metrics::{counter, gauge};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};

use super::{RETRY_AFTER_S, refusal};
use crate::http::{hints, requests::request_error::RequestError};
use plaudit_catalogue::settings::SocketSettings;
use plaudit_domain::{Full, Held, Holding, Most, Payers};

/// Cheap to clone.
#[derive(Clone)]
pub struct Sockets {
    inner: Arc<SocketRegistry>,
}

struct SocketRegistry {
    settings: SocketSettings,
    most: Most,
    stopping: CancellationToken,
    /// Until when connections are closed; set before `stopping` is cancelled.
    closed_by: OnceLock<Instant>,
    open: TaskTracker,
    payers: Arc<Payers>,
}

/// The transport of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Transport {
    Http,
    WebSocket,
    EventStream,
}

impl Transport {
    /// The transports whose connections stay open.
    const OPEN: [Self; 2] = [Self::WebSocket, Self::EventStream];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::WebSocket => "websocket",
            Self::EventStream => "sse",
        }
    }
}

/// A socket or event stream that is counted as open until this is dropped.
pub struct OpenSocket {
    transport: Transport,
    _held: Held,
    _open: TaskTrackerToken,
}

/// An operation that is counted as a subscription until this is dropped.
pub struct RunningSubscription(());

/// Why no further one is accepted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SocketLimit(Full);

impl Sockets {
    /// `in_all`: how many may be open.
    pub fn new(settings: SocketSettings, in_all: u32, payers: Arc<Payers>) -> Self {
        let most = Most { in_all: in_all.into(), of_one: settings.sockets_per_address.into() };
        let (stopping, closed_by, open) = Default::default();
        Self { inner: Arc::new(SocketRegistry { settings, most, stopping, closed_by, open, payers }) }
    }

    /// Registers the metrics at 0, so that they exist before the first connection.
    pub fn begin_metrics(&self) {
        for transport in Transport::OPEN {
            gauge!("plaudit_sockets", "transport" => transport.name()).set(0.0);
        }
        gauge!("plaudit_subscriptions").set(0.0);
        for code in [1000, 1006, 1012] {
            counter!("plaudit_socket_closes_total", "code" => code.to_string()).increment(0);
        }
    }

    /// Closes every connection, also those that open later; WebSockets with 1012. Each at a random moment of
    /// `spread`, so that their clients do not all connect elsewhere at once. Waits until the closes are sent,
    /// but no longer than `bound` after that.
    pub async fn close_all(&self, spread: Duration, bound: Duration) {
        self.inner.closed_by.get_or_init(|| Instant::now() + spread);
        self.inner.stopping.cancel();
        self.inner.open.close();
        if tokio::time::timeout(spread + bound, self.inner.open.wait()).await.is_err() {
            tracing::warn!(
                sockets = self.inner.open.len(),
                "the process stopped before every socket was closed"
            );
        }
    }

    /// `address`: of the client, if its connections are limited.
    ///
    /// # Errors
    /// As many connections are open as the settings allow.
    pub(crate) fn admit(
        &self,
        address: Option<IpAddr>,
        transport: Transport,
    ) -> Result<OpenSocket, SocketLimit> {
        let payer = Arc::new(self.inner.payers.payer_of_address(address));
        let held = payer.take(Holding::Sockets, 1, self.inner.most);
        if let Err(Full::OfNetwork(_, most)) = held {
            hints::address_full(address, most);
        }
        let held = held.map_err(SocketLimit)?;
        gauge!("plaudit_sockets", "transport" => transport.name()).increment(1.0);
        Ok(OpenSocket { transport, _held: held, _open: self.inner.open.token() })
    }

    pub(crate) fn settings(&self) -> &SocketSettings {
        &self.inner.settings
    }

    /// Ends when one connection is to be closed.
    pub(crate) fn stopping(&self) -> impl Future<Output = ()> + Send + use<> {
        let inner = Arc::clone(&self.inner);
        async move {
            inner.stopping.cancelled().await;
            let left = inner.closed_by.get().map_or(Duration::ZERO, |end| end.duration_since(Instant::now()));
            if !left.is_zero() {
                tokio::time::sleep(left.mul_f64(rand::random())).await;
            }
        }
    }
}

impl Drop for OpenSocket {
    fn drop(&mut self) {
        gauge!("plaudit_sockets", "transport" => self.transport.name()).decrement(1.0);
    }
}

impl RunningSubscription {
    pub fn begin() -> Self {
        gauge!("plaudit_subscriptions").increment(1.0);
        Self(())
    }
}

impl Drop for RunningSubscription {
    fn drop(&mut self) {
        gauge!("plaudit_subscriptions").decrement(1.0);
    }
}

impl From<SocketLimit> for RequestError {
    /// Refused before the upgrade, which is cheap. Clients retry after a pause.
    fn from(SocketLimit(full): SocketLimit) -> Self {
        let in_all = "this server has its maximum of open sockets; try again later";
        let (status, error) = refusal(full, "sockets and event streams", in_all);
        Self::new(status, error).with_header(header::RETRY_AFTER, RETRY_AFTER_S.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::settings::RateSettings;

    fn sockets(in_all: u32, per_address: u32) -> Sockets {
        let settings = SocketSettings { sockets_per_address: per_address, ..SocketSettings::default() };
        Sockets::new(settings, in_all, Arc::new(Payers::new(&RateSettings::unlimited(), 0)))
    }

    fn admit(sockets: &Sockets, address: &str) -> Result<OpenSocket, SocketLimit> {
        sockets.admit(Some(address.parse().unwrap()), Transport::WebSocket)
    }

    #[test]
    fn ipv6_addresses_count_by_host_and_by_site() {
        let sockets = sockets(20, 1);
        let _one = admit(&sockets, "2001:db8:1:2::1").unwrap();
        assert!(admit(&sockets, "2001:db8:1:2:ffff::9").is_err());
        let _others: Vec<_> =
            (3..12).map(|host| admit(&sockets, &format!("2001:db8:1:{host:x}::1")).unwrap()).collect();
        assert!(admit(&sockets, "2001:db8:1:12::1").is_err(), "ten of the site");
        let _mapped = admit(&sockets, "::ffff:10.0.0.1").unwrap();
        assert!(admit(&sockets, "10.0.0.1").is_err());
        assert!(admit(&sockets, "::ffff:10.0.0.2").is_ok());
    }
}
