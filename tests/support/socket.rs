//! A client of `graphql-transport-ws`.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, client_async, connect_async,
    tungstenite::{
        self, Message, client::IntoClientRequest, handshake::client::Request, protocol::CloseFrame,
    },
};

const MESSAGE_TIMEOUT: Duration = Duration::from_secs(80);

/// An initialised connection.
pub struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl Socket {
    /// Like `open`; `None` when no server accepts the connection, or it ends.
    pub async fn try_open(url: &str, token: Option<String>) -> Option<Self> {
        let mut socket = Self { stream: connect_async(request(url)).await.ok()?.0 };
        socket.try_send(init(token)).await?;
        let acknowledged = socket.try_receive().await?;
        (acknowledged["type"] == "connection_ack").then_some(socket)
    }

    pub async fn try_send(&mut self, message: Value) -> Option<()> {
        self.stream.send(Message::text(message.to_string())).await.ok()
    }

    /// The next message of the protocol, without a timeout; `None` when the connection ends.
    pub async fn try_receive(&mut self) -> Option<Value> {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).ok(),
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    pub async fn open(url: &str, token: Option<String>) -> Self {
        let mut socket = Self::connect(url).await;
        socket.send(init(token)).await;
        assert_eq!(socket.receive().await["type"], "connection_ack");
        socket
    }

    /// Connects without initialising.
    pub async fn connect(url: &str) -> Self {
        let (stream, _) = connect_async(request(url)).await.unwrap();
        Self { stream }
    }

    /// Connects by this request. `Err` has the HTTP status of a refused upgrade.
    pub async fn try_connect(request: Request) -> Result<Self, u16> {
        match connect_async(request).await {
            Ok((stream, _)) => Ok(Self { stream }),
            Err(tungstenite::Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Connects from another local address, with a small receive buffer.
    pub async fn try_connect_from(address: &str, url: &str) -> Result<Self, u16> {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.bind(format!("{address}:0").parse().unwrap()).unwrap();
        let server = url.trim_start_matches("http://").parse().unwrap();
        let stream = MaybeTlsStream::Plain(socket.connect(server).await.unwrap());
        match client_async(request(url), stream).await {
            Ok((stream, _)) => Ok(Self { stream }),
            Err(tungstenite::Error::Http(response)) => Err(response.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Initialises a new connection.
    pub async fn initialise(&mut self, token: Option<String>) {
        self.send(init(token)).await;
        assert_eq!(self.receive().await["type"], "connection_ack");
    }

    /// The next frame of any type.
    pub async fn frame(&mut self) -> Message {
        let frame = tokio::time::timeout(MESSAGE_TIMEOUT, self.stream.next()).await.expect("a frame in time");
        frame.expect("a frame").unwrap()
    }

    pub async fn send_frame(&mut self, frame: Message) {
        self.stream.send(frame).await.unwrap();
    }

    /// Sends it with one of the next frames.
    pub async fn feed_frame(&mut self, frame: Message) {
        self.stream.feed(frame).await.unwrap();
    }

    /// `None` if the connection has ended.
    pub async fn try_feed_frame(&mut self, frame: Message) -> Option<()> {
        self.stream.feed(frame).await.ok()
    }

    pub async fn send(&mut self, message: Value) {
        self.stream.send(Message::text(message.to_string())).await.unwrap();
    }

    /// The next message of the protocol.
    pub async fn receive(&mut self) -> Value {
        match self.next().await {
            Ok(message) => message,
            Err(closed) => panic!("closed: {closed:?}"),
        }
    }

    async fn next(&mut self) -> Result<Value, Option<CloseFrame>> {
        loop {
            let message =
                tokio::time::timeout(MESSAGE_TIMEOUT, self.stream.next()).await.expect("a message in time");
            match message {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(frame))) => return Err(frame),
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    /// The close code; skips messages before it.
    pub async fn close_code(&mut self) -> u16 {
        self.closed().await.0
    }

    /// The close code and its reason; skips messages before them.
    pub async fn closed(&mut self) -> (u16, String) {
        loop {
            if let Err(frame) = self.next().await {
                return frame
                    .map_or_else(Default::default, |frame| (frame.code.into(), frame.reason.to_string()));
            }
        }
    }

    pub async fn subscribe(&mut self, id: &str, query: &str, variables: Value) {
        let payload = json!({ "query": query, "variables": variables });
        self.send(json!({ "type": "subscribe", "id": id, "payload": payload })).await;
    }

    /// The `data` of the next message.
    pub async fn data(&mut self) -> Value {
        let message = self.receive().await;
        assert_eq!(message["type"], "next", "{message}");
        message["payload"]["data"].clone()
    }

    pub async fn watch_notes(&mut self, notes: &[&str]) {
        let query = "subscription ($n: [ID!]!) {
            noteCountsChanged(noteIds: $n) { __typename id likeCount countsVersion viewerHasLiked } }";
        self.subscribe("notes", query, json!({ "n": notes })).await;
    }

    /// Reads note messages until one satisfies `accept`; versions must never go backwards.
    pub async fn note_until(&mut self, accept: impl Fn(&Value) -> bool) -> Value {
        let mut newest = 0;
        loop {
            let note = self.data().await["noteCountsChanged"].clone();
            let version = note["countsVersion"].as_u64().unwrap();
            assert!(version >= newest, "a version went backwards: {note}");
            newest = version;
            if accept(&note) {
                return note;
            }
        }
    }
}

/// The request of a WebSocket upgrade.
pub fn upgrade(url: &str, subprotocol: Option<&str>) -> Request {
    let url = format!("{}/graphql/ws", url.replace("http://", "ws://"));
    let mut request = url.into_client_request().unwrap();
    if let Some(subprotocol) = subprotocol {
        request.headers_mut().insert("sec-websocket-protocol", subprotocol.parse().unwrap());
    }
    request
}

fn request(url: &str) -> Request {
    upgrade(url, Some("graphql-transport-ws"))
}

fn init(token: Option<String>) -> Value {
    let payload = token.map_or(json!({}), |token| json!({ "Authorization": format!("Bearer {token}") }));
    json!({ "type": "connection_init", "payload": payload })
}
