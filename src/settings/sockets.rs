//! The limits of connections that stay open.

use std::{num::NonZeroU32, time::Duration};

use clap::Args;

use super::values::{as_usize, duration, whole};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_mins(1);

/// What WebSockets and event streams may take.
#[derive(Args, Clone, Copy, PartialEq, Eq, Debug)]
#[command(next_help_heading = "Sockets")]
pub struct SocketSettings {
    /// WebSockets and event streams that one process holds open, 1 to 1000000
    #[arg(long, value_name = "SOCKETS", default_value = "20000", value_parser = whole(1..=1_000_000, Some))]
    pub sockets: u32,

    /// How many of them from one address (IPv6: one /64 network), 1 to 1000000; all of a proxy's are one's
    #[arg(long, value_name = "SOCKETS", default_value = "100", value_parser = whole(1..=1_000_000, Some))]
    pub sockets_per_address: u32,

    /// Operations that run at the same time on one WebSocket, 1 to 1000
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = whole(1..=1000, Some))]
    pub socket_subscriptions: u32,

    /// Bytes of one message from a client, 1024 to 1048576
    #[arg(long, value_name = "BYTES", default_value = "65536", value_parser = whole(1024..=1_048_576, as_usize))]
    pub socket_message_bytes: usize,

    /// Messages that a client may send per second, 1 to 10000; four times as many at once
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = whole(1..=10_000, NonZeroU32::new))]
    pub socket_messages: NonZeroU32,

    /// How long a client may take to send `connection_init`, 1s to 1m
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration(SECOND..=MINUTE))]
    pub socket_init_wait: Duration,

    /// Time between two pings; a client that answers none until the next is dead; 1s to 10m
    #[arg(long, value_name = "DURATION", default_value = "25s", value_parser = duration(SECOND..=MINUTE * 10))]
    pub socket_ping: Duration,

    /// How long sending may stand still before a client that does not read is given up, 1s to 1m
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration(SECOND..=MINUTE))]
    pub socket_send_wait: Duration,
}
