//! TCP connections of clients: their limits, which of them makes room for a newcomer, and the answer to those beyond.
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
use metrics::{Counter, counter, gauge};
use parking_lot::Mutex;
use serde_json::json;
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;

use super::{
    counts::{ConnectionCounts, Full, Most},
    idle::{Idle, IdleConnection, IdleKey},
};
use crate::http::hints;
use plaudit_catalogue::settings::RequestSettings;
use plaudit_graphql::{ApiError, Code};

/// When clients that are refused may try again, in seconds.
const RETRY_AFTER_S: u32 = 5;
/// Most connections that make room and are not closed yet: each is a file beyond the limit.
const MOST_LEAVING: u32 = 32;

/// Cheap to clone.
#[derive(Clone)]
pub struct Connections(Arc<Registry>);

struct Registry {
    most: Most,
    /// Their connections are those of many clients.
    proxies: Vec<IpNet>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    counts: ConnectionCounts,
    idle: Idle,
    /// Those that make room. They do not count any more.
    leaving: u32,
}

/// A request came on a connection that is closed, because another one has its place.
#[derive(Debug, thiserror::Error)]
#[error("the connection has made room for another one")]
pub struct MadeRoom;

/// A connection that is counted as open until this is dropped, or until it makes room.
pub struct OpenConnection {
    connections: Connections,
    /// The address that the connection counts for; `None` for a proxy's connection and for a WebSocket.
    address: Mutex<Option<IpAddr>>,
    idle: Mutex<Option<IdleKey>>,
    /// Cancelled, with the registry locked, when it makes room.
    close: CancellationToken,
}

impl Connections {
    /// `files`: how many files clients may have open. One address gets half of them at most.
    pub fn new(settings: &RequestSettings, per_address: u32, files: u32) -> Self {
        let in_all = settings.connections.min(files);
        let per_address = per_address.min((in_all / 2).max(1));
        gauge!("plaudit_connections").set(0.0);
        for limit in [IN_ALL, PER_ADDRESS] {
            refused(limit).increment(0);
        }
        made_room().increment(0);
        let proxies = settings.trusted_proxies.clone();
        Self(Arc::new(Registry { most: Most { in_all, per_address }, proxies, open: Mutex::default() }))
    }

    /// Counts a connection of this address. One beyond the limits is answered and closed, before anything of it is
    /// read.
    pub fn admit(&self, stream: TcpStream, from: SocketAddr) -> Option<(TcpStream, OpenConnection)> {
        let address = from.ip().to_canonical();
        let is_proxy = self.0.proxies.iter().any(|network| network.contains(&address));
        let address = (!is_proxy).then_some(address);
        let opened = self.0.open.lock().open(address, self.0.most);
        if let Err(full) = opened {
            if let Full::OfNetwork(_, most) = full {
                hints::address_full(address, most);
            }
            self.refuse(stream, full);
            return None;
        }
        gauge!("plaudit_connections").increment(1.0);
        let (connections, close) = (self.clone(), CancellationToken::new());
        let open =
            OpenConnection { connections, address: Mutex::new(address), idle: Mutex::default(), close };
        open.is_idle();
        Some((stream, open))
    }

    /// Does not wait for a client that reads nothing.
    fn refuse(&self, stream: TcpStream, full: Full) {
        let (limit, status, error) = match full {
            Full::OfNetwork(network, most) => {
                let message =
                    format!("{most} connections are open from your network {network}; close one first");
                (PER_ADDRESS, "429 Too Many Requests", ApiError::too_often(message, RETRY_AFTER_S))
            }
            Full::InAll => {
                let in_all = self.0.most.in_all;
                let message = format!("{in_all} connections are open, which is this server's maximum");
                (IN_ALL, "503 Service Unavailable", ApiError::new(Code::RetryLater, message))
            }
        };
        refused(limit).increment(1);
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

impl Open {
    fn open(&mut self, address: Option<IpAddr>, most: Most) -> Result<(), Full> {
        let mut opened = self.counts.open(address, most);
        if opened == Err(Full::InAll) && self.make_room(address) {
            opened = self.counts.open(address, most);
        }
        if let Some(address) = address.filter(|_| opened.is_ok()) {
            self.idle.opened(address);
        }
        opened
    }

    /// False if no connection can be closed for the newcomer.
    fn make_room(&mut self, newcomer: Option<IpAddr>) -> bool {
        if self.leaving >= MOST_LEAVING {
            return false;
        }
        let Some(IdleConnection { address, close }) = self.idle.make_room(newcomer) else { return false };
        self.counts.close(Some(address));
        self.idle.closed(address);
        self.leaving += 1;
        close.cancel();
        made_room().increment(1);
        true
    }
}

impl OpenConnection {
    /// It waits for a request. From now on it may be closed for another one, unless it is a proxy's.
    pub fn is_idle(&self) {
        let Some(address) = *self.address.lock() else { return };
        let mut open = self.connections.0.open.lock();
        if !self.close.is_cancelled() {
            let connection = IdleConnection { address, close: self.close.clone() };
            *self.idle.lock() = Some(open.idle.begins(connection));
        }
    }

    /// A request has come. From now on it is not closed for another one.
    ///
    /// # Errors
    /// It has made room just before, so the request comes too late.
    pub fn is_used(&self) -> Result<(), MadeRoom> {
        let Some(address) = *self.address.lock() else { return Ok(()) };
        let mut open = self.connections.0.open.lock();
        if self.close.is_cancelled() {
            return Err(MadeRoom);
        }
        if let Some(key) = self.idle.lock().take() {
            open.idle.ends(address, key);
        }
        Ok(())
    }

    /// It became a WebSocket, for which the limits of sockets apply.
    pub fn is_upgraded(&self) {
        let mut open = self.connections.0.open.lock();
        if let Some(address) = self.address.lock().take() {
            open.counts.leave(address);
            open.idle.closed(address);
        }
    }

    /// Ends when it makes room for another one.
    pub async fn makes_room(&self) {
        self.close.cancelled().await;
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        gauge!("plaudit_connections").decrement(1.0);
        let was_counted = self.is_used().is_ok();
        let mut open = self.connections.0.open.lock();
        if !was_counted {
            open.leaving -= 1;
            return;
        }
        let address = self.address.lock().take();
        open.counts.close(address);
        if let Some(address) = address {
            open.idle.closed(address);
        }
    }
}

const IN_ALL: &str = "connections";
const PER_ADDRESS: &str = "connections_per_address";

fn refused(limit: &'static str) -> Counter {
    counter!("plaudit_connections_refused_total", "limit" => limit)
}

fn made_room() -> Counter {
    counter!("plaudit_connections_made_room_total")
}
