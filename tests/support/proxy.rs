//! An address that leads to one server now and to another one later, as that of a primary does, over a line that may be
//! slow, cut into pieces or silent.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpListener, TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::watch,
};

/// Bytes that are carried at once, and those of a slice.
const CHUNK: usize = 64 * 1024;
const SLICE: usize = 7;

/// How a proxy carries bytes, of new and of present connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Line {
    Straight,
    /// Each piece takes this long.
    Slow(Duration),
    /// A few bytes at a time.
    Sliced,
    /// What clients send arrives, what the server sends does not.
    DeafToAnswers,
    /// Connections stay open, and nothing arrives.
    HalfOpen,
}

/// A port of this machine that leads to another one.
pub struct Proxy {
    pub port: u16,
    target: watch::Sender<u16>,
    line: watch::Sender<Line>,
}

impl Proxy {
    pub async fn start(target: u16) -> Self {
        Self::listen(TcpListener::bind("127.0.0.1:0").await.unwrap(), target)
    }

    pub fn listen(listener: TcpListener, target: u16) -> Self {
        let port = listener.local_addr().unwrap().port();
        let (target, targets) = watch::channel(target);
        let (line, lines) = watch::channel(Line::Straight);
        tokio::spawn(accept(listener, targets, lines));
        Self { port, target, line }
    }

    /// Ends all connections; new ones lead to the other port.
    pub fn lead_to(&self, target: u16) {
        self.target.send_replace(target);
    }

    /// Ends all connections.
    pub fn cut(&self) {
        let target = *self.target.borrow();
        self.lead_to(target);
    }

    pub fn set(&self, line: Line) {
        self.line.send_replace(line);
    }
}

/// Ends with the [`Proxy`].
async fn accept(listener: TcpListener, mut target: watch::Receiver<u16>, line: watch::Receiver<Line>) {
    loop {
        tokio::select! {
            Ok((client, _)) = listener.accept() => {
                tokio::spawn(carry(client, target.clone(), line.clone()));
            }
            changed = target.changed() => {
                if changed.is_err() {
                    return;
                }
            }
        }
    }
}

async fn carry(client: TcpStream, mut target: watch::Receiver<u16>, line: watch::Receiver<Line>) {
    let port = *target.borrow_and_update();
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
    // Without this, what is carried in pieces would wait for acknowledgements.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
    tokio::select! {
        () = copy(from_client, to_server, line.clone(), false) => {}
        () = copy(from_server, to_client, line, true) => {}
        _ = target.changed() => {}
    }
}

/// Carries one direction until an end closes it.
async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut line: watch::Receiver<Line>,
    is_answer: bool,
) {
    let mut chunk = vec![0; CHUNK];
    while let Ok(read @ 1..) = from.read(&mut chunk).await {
        // What is held back arrives when the line is whole again, as TCP promises.
        let is_open = |line: &Line| match line {
            Line::HalfOpen => false,
            Line::DeafToAnswers => !is_answer,
            Line::Straight | Line::Slow(_) | Line::Sliced => true,
        };
        let Ok(now) = line.wait_for(is_open).await.map(|line| *line) else { return };
        let step = if now == Line::Sliced { SLICE } else { CHUNK };
        if let Line::Slow(by) = now {
            tokio::time::sleep(by).await;
        }
        for slice in chunk[..read].chunks(step) {
            if to.write_all(slice).await.is_err() {
                return;
            }
            if now == Line::Sliced {
                tokio::task::yield_now().await;
            }
        }
    }
}
