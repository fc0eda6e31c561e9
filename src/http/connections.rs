//! TCP connections of clients: their limits, and the answer to those beyond.
//!
//! Each is an open file, and the stores need files, too: without a limit, silent clients keep the server from
//! reaching them.

use std::{
    io::Write,
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use async_graphql::ServerError;
use ipnet::IpNet;
use metrics::{counter, gauge};
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::TcpStream;

use super::{
    counts::{Counts, Full, Most},
    hints,
};
use crate::{
    graphql::{ApiError, Code},
    primitives::network_of,
    settings::RequestSettings,
};

/// When clients that are refused may try again, in seconds.
const RETRY_AFTER_S: u32 = 5;

/// Cheap to clone.
#[derive(Clone)]
pub struct Connections(Arc<Registry>);

struct Registry {
    most: Most,
    /// Their connections are those of many clients.
    proxies: Vec<IpNet>,
    counts: Mutex<Counts>,
}

/// A connection that is counted as open until this is dropped.
pub struct OpenConnection {
    connections: Connections,
    network: Mutex<Option<IpAddr>>,
}

impl Connections {
    /// `files`: how many files clients may have open. One address gets half of them at most.
    pub fn new(settings: &RequestSettings, files: u32) -> Self {
        let in_all = settings.connections.min(files);
        let per_network = settings.connections_per_address.min((in_all / 2).max(1));
        gauge!("plaudit_connections").set(0.0);
        for limit in [Full::InAll, Full::OfNetwork] {
            refused(limit).increment(0);
        }
        let proxies = settings.trusted_proxies.clone();
        Self(Arc::new(Registry { most: Most { in_all, per_network }, proxies, counts: Mutex::default() }))
    }

    /// Counts a connection of this address. One beyond the limits is answered and closed, before anything of it is
    /// read.
    pub fn admit(&self, stream: TcpStream, from: SocketAddr) -> Option<(TcpStream, OpenConnection)> {
        let address = from.ip().to_canonical();
        let is_proxy = self.0.proxies.iter().any(|network| network.contains(&address));
        let network = (!is_proxy).then(|| network_of(address));
        let opened = self.0.counts.lock().open(network, self.0.most);
        if let Err(full) = opened {
            refused(full).increment(1);
            if full == Full::OfNetwork {
                hints::connections_full(network, self.0.most.per_network);
            }
            self.refuse(stream, full);
            return None;
        }
        gauge!("plaudit_connections").increment(1.0);
        Some((stream, OpenConnection { connections: self.clone(), network: Mutex::new(network) }))
    }

    /// Does not wait for a client that reads nothing.
    fn refuse(&self, stream: TcpStream, full: Full) {
        let Most { in_all, per_network } = self.0.most;
        let (status, error) = match full {
            Full::OfNetwork => {
                let message =
                    format!("{per_network} connections are open from your address; close one first");
                ("429 Too Many Requests", ApiError::too_often(message, RETRY_AFTER_S))
            }
            Full::InAll => {
                let message = format!("{in_all} connections are open, which is this server's maximum");
                ("503 Service Unavailable", ApiError::new(Code::RetryLater, message))
            }
        };
        let body = json!({ "errors": [ServerError::from(error)] }).to_string();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Retry-After: {RETRY_AFTER_S}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        if let Ok(mut stream) = stream.into_std() {
            let _ = stream.write_all((head + &body).as_bytes());
        }
    }
}

impl OpenConnection {
    /// It became a WebSocket, for which the limits of sockets apply.
    pub fn is_upgraded(&self) {
        if let Some(network) = self.network.lock().take() {
            self.connections.0.counts.lock().leave(network);
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.connections.0.counts.lock().close(self.network.lock().take());
        gauge!("plaudit_connections").decrement(1.0);
    }
}

fn refused(limit: Full) -> metrics::Counter {
    let limit = match limit {
        Full::InAll => "connections",
        Full::OfNetwork => "connections_per_address",
    };
    counter!("plaudit_connections_refused_total", "limit" => limit)
}
