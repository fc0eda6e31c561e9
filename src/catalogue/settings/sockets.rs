//! Limits of open connections: WebSockets and event streams.

use std::{num::NonZeroU32, time::Duration};

use clap::Args;

use super::values::{duration, whole};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

/// Limits of WebSockets and event streams.
#[derive(Args, Clone, Copy, PartialEq, Eq, Debug)]
#[command(next_help_heading = "Sockets")]
pub struct SocketSettings {
    /// WebSockets and event streams from one address (IPv6: one /64 network), 1 to 1000000
    ///
    /// Ten times as many other connections, at most half of all. Proxies are not limited. One more is
    /// refused with 429.
    #[arg(long, value_name = "SOCKETS", default_value = "100", value_parser = whole(1..=1_000_000, Some))]
    pub sockets_per_address: u32,

    /// Operations that run at the same time on one WebSocket, 1 to 1000
    ///
    /// One more is refused with `LIMIT_EXCEEDED`.
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = whole(1..=1000, Some))]
    pub socket_subscriptions: u32,

    /// Messages that a client may send per second, 1 to 10000; four times as many at once
    ///
    /// More close the WebSocket with 1008.
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = whole(1..=10_000, NonZeroU32::new))]
    pub socket_messages: NonZeroU32,

    /// Time between two pings, 1s to 10m
    ///
    /// A client that answers none until the next one is disconnected. Set it shorter than the idle timeout of
    /// a proxy.
    #[arg(long, value_name = "DURATION", default_value = "25s", value_parser = duration(SECOND..=MINUTE * 10))]
    pub socket_ping: Duration,

    /// Over how long a stop sends sockets elsewhere, one by one, 0s to 10m; 0s closes all at once
    ///
    /// For the first part of it, at most 5 s, new connections are still accepted, until balancers have noticed.
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration(Duration::ZERO..=MINUTE * 10))]
    pub shutdown_spread: Duration,
}

impl SocketSettings {
    /// Other connections from one address.
    pub const fn connections_per_address(&self) -> u32 {
        self.sockets_per_address.saturating_mul(10)
    }
}
