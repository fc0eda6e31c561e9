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
    time::Duration,
};

/// The service can do its work.
pub fn is_ready() {
    tell("READY=1");
}

/// The service has begun to stop.
pub fn is_stopping() {
    tell("STOPPING=1");
}

/// Reports from a task of the runtime that the service is alive, twice in the time after which systemd restarts it:
/// a runtime whose tasks do not run any more is of no use. Ends if systemd does not watch.
pub async fn keep_alive() {
    let Some(limit) = watched() else { return };
    let mut pulse = tokio::time::interval(limit / 2);
    loop {
        pulse.tick().await;
        tell("WATCHDOG=1");
    }
}

/// How long this process may be silent.
fn watched() -> Option<Duration> {
    let number = |name| env::var(name).ok()?.parse::<u64>().ok();
    let is_other =
        env::var_os("WATCHDOG_PID").is_some() && number("WATCHDOG_PID") != Some(std::process::id().into());
    let micros = number("WATCHDOG_USEC").filter(|micros| *micros > 0 && !is_other)?;
    Some(Duration::from_micros(micros))
}

/// A message that cannot be sent at once is dropped: the next one follows, or systemd's time limit.
fn tell(message: &str) {
    if let Some(name) = env::var_os("NOTIFY_SOCKET")
        && let Err(error) = send(name.as_encoded_bytes(), message)
    {
        tracing::warn!(%error, message, "cannot tell the service manager");
    }
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
