//! A client of `graphql-transport-ws` with one subscription.

use std::{sync::Arc, time::Instant};

use futures_util::{SinkExt, StreamExt};
use parking_lot::Mutex;
use serde_json::json;
use tokio::{net::TcpStream, task::JoinHandle};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{Message, client::IntoClientRequest, protocol::WebSocketConfig},
};

use crate::support::Outcome;

/// Bytes of each buffer: the default of 128 KiB is too much for 10,000 clients.
const BUFFER: usize = 2 * 1024;

const QUERY: &str = "subscription ($n: [ID!]!) {
    noteCountsChanged(noteIds: $n) { __typename id likeCount countsVersion } }";

/// A client that reads messages until it is dropped.
pub struct Subscriber {
    arrivals: Arc<Mutex<Vec<Arrival>>>,
    task: JoinHandle<()>,
}

/// One message of the subscription.
#[derive(Clone, Copy)]
pub struct Arrival {
    pub at: Instant,
    pub likes: u64,
    pub version: u64,
}

impl Subscriber {
    /// Opens a socket that watches this note; returns when it has its first message.
    pub async fn open(url: &str, note: usize) -> Outcome<Self> {
        let mut socket = connect(url).await?;
        socket.send(text(&json!({ "type": "connection_init" }))).await?;
        next(&mut socket).await?;
        let payload = json!({ "query": QUERY, "variables": { "n": [format!("note_{note}")] } });
        socket.send(text(&json!({ "type": "subscribe", "id": "1", "payload": payload }))).await?;
        let arrivals = Arc::new(Mutex::new(vec![arrival(&next(&mut socket).await?)?]));
        let task = tokio::spawn(read(socket, Arc::clone(&arrivals)));
        Ok(Self { arrivals, task })
    }

    /// Returns when the server has closed the socket.
    pub async fn closed(&mut self) {
        let _ = (&mut self.task).await;
    }

    pub fn arrivals(&self) -> Vec<Arrival> {
        self.arrivals.lock().clone()
    }

    /// Whether the last received message has these values.
    pub fn has(&self, likes: u64, version: u64) -> bool {
        self.arrivals.lock().last().is_some_and(|last| (last.likes, last.version) == (likes, version))
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.task.abort();
    }
}

type Socket = WebSocketStream<TcpStream>;

async fn connect(url: &str) -> Outcome<Socket> {
    let address = url.strip_prefix("http://").ok_or("not HTTP")?;
    let mut request = format!("ws://{address}/graphql/ws").into_client_request()?;
    request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse()?);
    let stream = TcpStream::connect(address).await?;
    let config = WebSocketConfig::default().read_buffer_size(BUFFER).write_buffer_size(0);
    Ok(client_async_with_config(request, stream, Some(config)).await?.0)
}

fn text(message: &serde_json::Value) -> Message {
    Message::text(message.to_string())
}

async fn read(mut socket: Socket, arrivals: Arc<Mutex<Vec<Arrival>>>) {
    while let Ok(message) = next(&mut socket).await {
        match arrival(&message) {
            Ok(arrival) => arrivals.lock().push(arrival),
            Err(error) => eprintln!("{error}"),
        }
    }
}

async fn next(socket: &mut Socket) -> Outcome<String> {
    loop {
        match socket.next().await.ok_or("the server closed a socket")?? {
            Message::Text(text) => return Ok(text.to_string()),
            Message::Close(frame) => return Err(format!("the server closed a socket: {frame:?}").into()),
            _ => {}
        }
    }
}

/// Parses only two numbers, to keep the client cheap.
fn arrival(message: &str) -> Outcome<Arrival> {
    let at = Instant::now();
    let number = |name: &str| {
        let (_, rest) = message.split_once(name)?;
        rest[..rest.find([',', '}'])?].parse::<u64>().ok()
    };
    match (number("\"likeCount\":"), number("\"countsVersion\":")) {
        (Some(likes), Some(version)) => Ok(Arrival { at, likes, version }),
        _ => Err(format!("not an event: {message}").into()),
    }
}
