//! Notifies systemd, if it started this process, that the service is ready, stops, and is alive. Elsewhere nothing
//! happens.
//!
//! The protocol of sd_notify(3): a datagram per message. Written here because it must never wait: the crates
//! for it block the runtime while systemd does not read.

use std::{
    env, io,
    os::{
        linux::net::SocketAddrExt,
        unix::net::{SocketAddr, UnixDatagram},
    },
    sync::{Mutex, PoisonError},
    time::Duration,
};

const SOCKET: &str = "NOTIFY_SOCKET";

/// The last state, as long as it could not be sent.
static UNSENT: Mutex<Option<&str>> = Mutex::new(None);

/// The service can do its work.
pub fn is_ready() {
    tell_state(Some("READY=1"));
}

/// The service has begun to stop.
pub fn is_stopping() {
    tell_state(Some("STOPPING=1"));
}

/// Repeats a state that could not be sent, and reports from a task of the runtime that the service is alive, twice in
/// the time after which systemd restarts it: a runtime whose tasks do not run any more is of no use.
pub async fn keep_alive() {
    if env::var_os(SOCKET).is_none() {
        return;
    }
    let watched = watched();
    let mut pulse = tokio::time::interval(watched.map_or(Duration::from_secs(1), |limit| limit / 2));
    loop {
        pulse.tick().await;
        tell_state(None);
        if watched.is_some() {
            tell("WATCHDOG=1");
        }
    }
}

/// systemd waits for a state, so it is kept until it was sent, or another replaces it.
fn tell_state(new: Option<&'static str>) {
    let mut unsent = UNSENT.lock().unwrap_or_else(PoisonError::into_inner);
    *unsent = new.or(*unsent).filter(|state| !tell(state));
}

/// How long this process may be silent.
fn watched() -> Option<Duration> {
    let number = |name| env::var(name).ok()?.parse::<u64>().ok();
    let is_other =
        env::var_os("WATCHDOG_PID").is_some() && number("WATCHDOG_PID") != Some(std::process::id().into());
    let micros = number("WATCHDOG_USEC").filter(|micros| *micros > 0 && !is_other)?;
    Some(Duration::from_micros(micros))
}

/// False if the queue of the socket is full. Other errors do not pass with time.
fn tell(message: &str) -> bool {
    let Some(name) = env::var_os(SOCKET) else { return true };
    let sent = send(name.as_encoded_bytes(), message);
    if let Err(error) = &sent {
        tracing::warn!(%error, message, "cannot tell the service manager");
    }
    !sent.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

/// `name`: a path, or after `@` a name of the abstract namespace.
fn send(name: &[u8], message: &str) -> io::Result<()> {
    let address = match name.strip_prefix(b"@") {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(String::from_utf8_lossy(name).as_ref())?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.set_nonblocking(true)?;
    socket.send_to_addr(message.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_found_by_its_path_and_by_its_abstract_name_and_one_that_nobody_reads_delays_nothing() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("notify");
        let by_path = UnixDatagram::bind(&path).unwrap();
        let name = format!("plaudit-test-{}", std::process::id());
        let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
        let by_name = UnixDatagram::bind_addr(&abstract_name).unwrap();
        for (socket, name) in [(by_path, path.to_str().unwrap().to_owned()), (by_name, format!("@{name}"))] {
            send(name.as_bytes(), "READY=1").unwrap();
            let mut buffer = [0; 16];
            let length = socket.recv(&mut buffer).unwrap();
            assert_eq!(&buffer[..length], b"READY=1");
            let sent = std::iter::repeat_with(|| send(name.as_bytes(), "WATCHDOG=1"));
            let error = sent.take(100_000).find_map(Result::err).unwrap();
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        }
    }
}
