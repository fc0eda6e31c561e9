//! A client's connection with time limits: it is closed when a request's head arrives too slowly, and when the
//! client does not read.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering::Relaxed},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

use super::connections::OpenConnection;

/// The phase of a connection. Shared with the service, because only the service knows when a head is complete.
#[derive(Clone, Default)]
pub struct Phase(Arc<AtomicU8>);

const HEAD: u8 = 0;
const REQUEST: u8 = 1;
const IDLE: u8 = 2;

impl Phase {
    /// A head is complete. From now on the request, or the protocol it upgrades to, has its own time limits.
    pub fn request_begins(&self) {
        self.0.store(REQUEST, Relaxed);
    }

    /// The next bytes begin another head.
    pub fn request_ends(&self) {
        self.0.store(IDLE, Relaxed);
    }
}

/// Bytes that a WebSocket has received since its last message. The library for WebSockets passes over empty parts of a
/// message, without end and without a sign of them, so only their bytes tell.
#[derive(Clone, Default)]
pub struct Unfinished(Arc<UnfinishedMessage>);

#[derive(Default)]
struct UnfinishedMessage {
    bytes: AtomicU64,
    /// Most bytes until a message is complete; 0 for no limit.
    most: AtomicU64,
}

/// A message takes more bytes than it may.
#[derive(Debug, thiserror::Error)]
#[error("the parts of a message take more than {0} bytes")]
pub struct TooManyParts(u64);

impl Unfinished {
    /// Limits what a message of at most so many bytes may take with the heads of its parts: twice as much.
    pub fn limit(&self, message: usize) {
        self.0.most.store(2 * message as u64, Relaxed);
    }

    /// A message is complete.
    pub fn finished(&self) {
        self.0.bytes.store(0, Relaxed);
    }

    fn add(&self, bytes: usize) -> io::Result<()> {
        let most = self.0.most.load(Relaxed);
        if most > 0 && self.0.bytes.fetch_add(bytes as u64, Relaxed) + bytes as u64 > most {
            return Err(io::Error::other(TooManyParts(most)));
        }
        Ok(())
    }
}

/// A TCP stream whose reads and writes have time limits.
pub struct TimedStream {
    stream: TcpStream,
    _open: Arc<OpenConnection>,
    phase: Phase,
    unfinished: Unfinished,
    head: Deadline,
    sending: Deadline,
}

impl TimedStream {
    /// `head`: from a head's first byte, or from the beginning of the connection, to the head's end. `send`: how long
    /// the client may read nothing.
    pub fn new(
        stream: TcpStream,
        open: Arc<OpenConnection>,
        (phase, unfinished): (Phase, Unfinished),
        head: Duration,
        send: Duration,
    ) -> Self {
        let (head, sending) = (Deadline::new(head), Deadline::new(send));
        Self { stream, _open: open, phase, unfinished, head, sending }
    }

    fn write<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        match write(Pin::new(&mut self.stream), context) {
            Poll::Ready(done) => {
                self.sending.clear();
                Poll::Ready(done)
            }
            Poll::Pending => self.sending.poll(context).map(Err),
        }
    }
}

/// A deadline that starts at the first wait.
struct Deadline {
    after: Duration,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    const fn new(after: Duration) -> Self {
        Self { after, timer: None }
    }

    fn begin(&mut self) {
        self.timer = Some(Box::pin(sleep(self.after)));
    }

    fn clear(&mut self) {
        self.timer = None;
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(self.after)));
        ready!(timer.as_mut().poll(context));
        Poll::Ready(io::ErrorKind::TimedOut.into())
    }
}

impl AsyncRead for TimedStream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(context, buffer) {
            this.unfinished.add(buffer.filled().len() - before)?;
            if buffer.filled().len() > before && this.phase.0.load(Relaxed) == IDLE {
                this.phase.0.store(HEAD, Relaxed);
                this.head.begin();
            }
            return Poll::Ready(read);
        }
        if this.phase.0.load(Relaxed) == HEAD {
            return this.head.poll(context).map(Err);
        }
        this.head.clear();
        Poll::Pending
    }
}

impl AsyncWrite for TimedStream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().write(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().write(context, |stream, context| stream.poll_write_vectored(context, slices))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().write(context, |stream, context| stream.poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().write(context, |stream, context| stream.poll_shutdown(context))
    }
}
