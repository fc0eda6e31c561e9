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

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::{Frame, SizeHint};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Sleep, sleep},
};

use super::listener::{MadeRoom, OpenConnection};

/// The phase of a connection. Shared with the service, because only the service knows when a head is complete
/// and when an answer ends.
#[derive(Clone)]
pub struct Phase {
    number: Arc<AtomicU8>,
    open: Arc<OpenConnection>,
}

const HEAD: u8 = 0;
const REQUEST: u8 = 1;
/// The answer has ended, and its last bytes may wait to be sent.
const ANSWERED: u8 = 2;
const IDLE: u8 = 3;

impl Phase {
    pub fn new(open: OpenConnection) -> Self {
        Self { number: Arc::default(), open: Arc::new(open) }
    }

    /// A head is complete. From now on the request, or the protocol it upgrades to, has its own time limits.
    ///
    /// # Errors
    /// The connection has made room for another one.
    pub fn request_begins(&self) -> Result<(), MadeRoom> {
        self.number.store(REQUEST, Relaxed);
        self.open.is_used()
    }

    /// The request became a WebSocket.
    pub fn is_upgraded(&self) {
        self.open.is_upgraded();
    }

    /// Ends when the connection makes room for another one.
    pub async fn makes_room(&self) {
        self.open.makes_room().await;
    }

    /// All of an answer is sent. The next bytes begin another head.
    fn sent(&self) {
        if self.number.compare_exchange(ANSWERED, IDLE, Relaxed, Relaxed).is_ok() {
            self.open.is_idle();
        }
    }
}

/// The body of an answer, at whose end the request ends.
pub struct AnswerBody {
    body: Body,
    /// `None` for the answer to an upgrade.
    phase: Option<Phase>,
}

impl AnswerBody {
    pub const fn new(body: Body, phase: Option<Phase>) -> Self {
        Self { body, phase }
    }
}

impl HttpBody for AnswerBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for AnswerBody {
    fn drop(&mut self) {
        if let Some(phase) = &self.phase {
            phase.number.store(ANSWERED, Relaxed);
        }
    }
}

/// Bytes that a WebSocket has received since its last message. The library for WebSockets passes over empty parts of a
/// message, without end and without a sign of them, so only their bytes show it.
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
pub struct TooManyFragments(u64);

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
            return Err(io::Error::other(TooManyFragments(most)));
        }
        Ok(())
    }
}

/// A TCP stream whose reads and writes have time limits.
pub struct TimedStream {
    stream: TcpStream,
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
        (phase, unfinished): (Phase, Unfinished),
        head: Duration,
        send: Duration,
    ) -> Self {
        let (head, sending) = (Deadline::new(head), Deadline::new(send));
        Self { stream, phase, unfinished, head, sending }
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
            if buffer.filled().len() > before && this.phase.number.load(Relaxed) == IDLE {
                this.phase.number.store(HEAD, Relaxed);
                this.head.begin();
            }
            return Poll::Ready(read);
        }
        if this.phase.number.load(Relaxed) == HEAD {
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

    /// hyper flushes once all that it has is written.
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = ready!(this.write(context, |stream, context| stream.poll_flush(context)));
        this.phase.sent();
        Poll::Ready(flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().write(context, |stream, context| stream.poll_shutdown(context))
    }
}
