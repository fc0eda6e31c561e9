//! TCP connections of clients: their limits, which of them makes room for a newcomer, and the answer to those beyond.
//!
//! Each is an open file, and the stores need files, too: without a limit, silent clients keep the server from
//! reaching them.

use std::{
    io::Write,
    mem,
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
    RETRY_AFTER_S,
    idle::{Idle, IdleConnection, IdleKey},
    refusal,
};
use crate::http::hints;
use plaudit_catalogue::settings::Settings;
use plaudit_domain::{Full, Held, Holding, Most, Payers};

/// Most connections that make room and are not closed yet: each is a file beyond the limit.
const MOST_LEAVING: u32 = 32;

/// Cheap to clone.
#[derive(Clone)]
pub struct Connections(Arc<Registry>);

struct Registry {
    payers: Arc<Payers>,
    most: Most,
    /// Each of their connections carries many clients.
    proxies: Vec<IpNet>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
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
    holder: Mutex<Holder>,
    /// Cancelled, with the registry locked, when it makes room.
    close: CancellationToken,
}

/// Who has what a connection holds of the accounts.
enum Holder {
    /// Itself.
    Used(Held),
    /// [`Idle`], which may give it to another one.
    Idle(IdleKey),
    /// Another one.
    Left,
}

impl Connections {
    /// `files`: how many files clients may have open. One address gets half of them at most.
    pub fn new(settings: &Settings, files: u32, payers: Arc<Payers>) -> Self {
        let in_all = settings.requests.connections.min(files);
        let of_one = settings.sockets.connections_per_address().min((in_all / 2).max(1));
        let most = Most { in_all: in_all.into(), of_one: of_one.into() };
        gauge!("plaudit_connections").set(0.0);
        for limit in [IN_ALL, PER_ADDRESS] {
            refused(limit).increment(0);
        }
        made_room().increment(0);
        let proxies = settings.requests.trusted_proxies.clone();
        Self(Arc::new(Registry { payers, most, proxies, open: Mutex::default() }))
    }

    /// Counts a connection of this address. One beyond the limits is answered and closed, before anything of it is
    /// read.
    pub fn admit(&self, stream: TcpStream, from: SocketAddr) -> Option<(TcpStream, OpenConnection)> {
        let address = from.ip().to_canonical();
        let is_proxy = self.0.proxies.iter().any(|network| network.contains(&address));
        let address = (!is_proxy).then_some(address);
        let held = match self.0.hold(address) {
            Ok(held) => held,
            Err(full) => {
                if let Full::OfNetwork(_, most) = full {
                    hints::address_full(address, most);
                }
                self.refuse(stream, full);
                return None;
            }
        };
        gauge!("plaudit_connections").increment(1.0);
        let (connections, close) = (self.clone(), CancellationToken::new());
        let (address, holder) = (Mutex::new(address), Mutex::new(Holder::Used(held)));
        let open = OpenConnection { connections, address, holder, close };
        open.is_idle();
        Some((stream, open))
    }

    /// Does not wait for a client that reads nothing.
    fn refuse(&self, stream: TcpStream, full: Full) {
        let limit = if full == Full::InAll { IN_ALL } else { PER_ADDRESS };
        let in_all = format!("{} connections are open, which is this server's maximum", self.0.most.in_all);
        let (status, error) = refusal(full, "connections", &in_all);
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

impl Registry {
    /// One more connection of the address; `None` if it counts for no address.
    fn hold(&self, address: Option<IpAddr>) -> Result<Held, Full> {
        let payer = Arc::new(self.payers.payer_of_address(address));
        let take = || payer.take(Holding::Connections, 1, self.most);
        let mut open = self.open.lock();
        let mut held = take();
        if matches!(held, Err(Full::InAll)) && open.make_room(address) {
            held = take();
        }
        if let Some(address) = address.filter(|_| held.is_ok()) {
            open.idle.opened(address);
        }
        held
    }
}

impl Open {
    /// False if no connection can be closed for the newcomer.
    fn make_room(&mut self, newcomer: Option<IpAddr>) -> bool {
        if self.leaving >= MOST_LEAVING {
            return false;
        }
        let Some(IdleConnection { address, held, close }) = self.idle.make_room(newcomer) else {
            return false;
        };
        drop(held);
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
        let mut holder = self.holder.lock();
        match mem::replace(&mut *holder, Holder::Left) {
            Holder::Used(held) => {
                let connection = IdleConnection { address, held, close: self.close.clone() };
                *holder = Holder::Idle(open.idle.begins(connection));
            }
            other => *holder = other,
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
        let mut holder = self.holder.lock();
        if let Holder::Idle(key) = *holder {
            *holder = open.idle.ends(address, key).map_or(Holder::Left, |idle| Holder::Used(idle.held));
        }
        Ok(())
    }

    /// It became a WebSocket, for which the limits of sockets apply.
    pub fn is_upgraded(&self) {
        let mut open = self.connections.0.open.lock();
        if let Some(address) = self.address.lock().take() {
            if let Holder::Used(held) = &mut *self.holder.lock() {
                held.leave_accounts();
            }
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
        if let Some(address) = self.address.lock().take() {
            open.idle.closed(address);
        }
        *self.holder.lock() = Holder::Left;
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
