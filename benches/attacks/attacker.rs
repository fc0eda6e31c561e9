//! What attackers do, each without a pause and without a token, until the process is killed.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use futures_util::{SinkExt, StreamExt, future::join_all};
use serde_json::{Value, json};
use tokio::net::{TcpSocket, TcpStream};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

use super::{Outcome, server::token};

/// The subject who wrote the longest notes.
const WRITER: &str = "a writer of the longest notes";
/// Clients of one address.
const CLIENTS: usize = 8;
/// Sockets of one address, and subscriptions of each.
const SOCKETS: usize = 4;
const SUBSCRIPTIONS: usize = 50;
const CONNECTIONS: usize = 900;
/// The address of whoever flips what attackers watch.
const FLIPPER: [u8; 4] = [127, 0, 2, 1];

pub struct Attack {
    name: &'static str,
    addresses: u8,
    kind: Kind,
}

#[derive(Clone, Copy)]
enum Kind {
    /// 24 pages of 100 notes in each request.
    Pages,
    /// Two small lists of each of 100 notes, each of which is a statement.
    Lists,
    /// A page of long texts under many aliases.
    Texts,
    /// Documents that differ, each as long as may be.
    Documents,
    /// Subscriptions with nested lists, while somebody else flips likes of what they watch.
    Subscriptions,
    /// Different subscriptions of 100 notes each, on as many sockets as may be open.
    Questions,
    /// Connections on which nothing is sent.
    Connections,
    /// Bodies as long as may be.
    Uploads,
}

impl Attack {
    pub const ALL: [Self; 12] = [
        Self { name: "pages", addresses: 1, kind: Kind::Pages },
        Self { name: "lists", addresses: 1, kind: Kind::Lists },
        Self { name: "texts", addresses: 1, kind: Kind::Texts },
        Self { name: "documents", addresses: 1, kind: Kind::Documents },
        Self { name: "subscriptions", addresses: 1, kind: Kind::Subscriptions },
        Self { name: "questions", addresses: 1, kind: Kind::Questions },
        Self { name: "connections", addresses: 1, kind: Kind::Connections },
        Self { name: "uploads", addresses: 1, kind: Kind::Uploads },
        Self { name: "pages-of-ten", addresses: 10, kind: Kind::Pages },
        Self { name: "lists-of-ten", addresses: 10, kind: Kind::Lists },
        Self { name: "texts-of-ten", addresses: 10, kind: Kind::Texts },
        Self { name: "subscriptions-of-ten", addresses: 10, kind: Kind::Subscriptions },
    ];

    pub fn named(name: &str) -> Outcome<&'static Self> {
        let mut all = const { &Self::ALL }.iter();
        all.find(|attack| attack.name == name).ok_or_else(|| format!("no attack is called {name}").into())
    }

    pub const fn name(&self) -> &'static str {
        self.name
    }

    pub const fn addresses(&self) -> u8 {
        self.addresses
    }

    pub async fn run(&self, url: &str, address: IpAddr) -> Outcome<()> {
        match self.kind {
            Kind::Pages => requests(url, address, |_| pages()).await,
            Kind::Lists => requests(url, address, |_| lists()).await,
            Kind::Texts => {
                let texts = texts(url).await?;
                requests(url, address, move |_| texts.clone()).await
            }
            Kind::Documents => requests(url, address, document).await,
            Kind::Uploads => requests(url, address, |_| json!({ "query": "#".repeat(250_000) })).await,
            Kind::Subscriptions => subscriptions(url, address).await,
            Kind::Questions => questions(url, address).await,
            Kind::Connections => connections(url, address).await,
        }
    }
}

/// Writes what attacks need: eight notes with the longest texts.
pub async fn prepare(url: &str) -> Outcome<()> {
    let create =
        "mutation ($body: String!) { createNote(input: { title: \"Long\", body: $body }) { note { id } } }";
    for _ in 0..8 {
        send(
            &reqwest::Client::new(),
            url,
            &json!({ "query": create, "variables": { "body": "\u{1F426}".repeat(10_000) } }),
        )
        .await?;
    }
    Ok(())
}

async fn send(http: &reqwest::Client, url: &str, body: &Value) -> Outcome<Value> {
    let request = http.post(format!("{url}/graphql")).bearer_auth(token(WRITER)?).json(body);
    Ok(request.send().await?.json().await?)
}

/// Repeats requests on all connections; `body` makes that with a number.
async fn requests(url: &str, address: IpAddr, body: impl Fn(usize) -> Value) -> Outcome<()> {
    let http = reqwest::Client::builder().local_address(address).build()?;
    let client = async |client: usize| {
        for n in 0_usize.. {
            let body = body(n * CLIENTS + client);
            if let Ok(answer) = http.post(format!("{url}/graphql")).json(&body).send().await {
                let _ = answer.bytes().await; // refused or not
            }
        }
    };
    join_all((0..CLIENTS).map(client)).await;
    Ok(())
}

fn pages() -> Value {
    let pages = (0..24).map(|n| format!("p{n}: feed(first: {}) {{ nodes {{ id }} }} ", 100 - n));
    json!({ "query": format!("{{ {} }}", pages.collect::<String>()) })
}

fn lists() -> Value {
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Note {
        likers(first: 1) { nodes { id } } comments(first: 1) { nodes { id } } } } }";
    let ids: Vec<String> = (1..=100).map(|n| format!("note_{n}")).collect();
    json!({ "query": query, "variables": { "ids": ids } })
}

async fn texts(url: &str) -> Outcome<Value> {
    let viewer =
        send(&reqwest::Client::new(), url, &json!({ "query": "{ viewer { user { id } } }" })).await?;
    let lists = (0..20).map(|n| format!("l{n}: notes(first: {}) {{ nodes {{ body }} }} ", 8 + n));
    let query = format!("query ($id: ID!) {{ user(id: $id) {{ {} }} }}", lists.collect::<String>());
    Ok(json!({ "query": query, "variables": { "id": viewer["data"]["viewer"]["user"]["id"] } }))
}

fn document(n: usize) -> Value {
    let fields = (0..95).map(|alias| format!("a{alias}_{n}: note(id: \"note_1\") {{ id title }} "));
    json!({ "query": format!("{{ {} }}", fields.collect::<String>()) })
}

async fn connections(url: &str, address: IpAddr) -> Outcome<()> {
    let mut open = Vec::new();
    for _ in 0..CONNECTIONS {
        open.push(connect(url, address).await?);
    }
    std::future::pending().await
}

async fn connect(url: &str, address: IpAddr) -> Outcome<TcpStream> {
    let server: SocketAddr = url.strip_prefix("http://").ok_or("not HTTP")?.parse()?;
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(address, 0))?;
    Ok(socket.connect(server).await?)
}

async fn subscriptions(url: &str, address: IpAddr) -> Outcome<()> {
    let watching = join_all((0..SOCKETS).map(|socket| watch(url, address, socket)));
    let flipping = flip(url);
    let (watched, flipped) = tokio::join!(watching, flipping);
    watched.into_iter().collect::<Outcome<()>>().and(flipped)
}

async fn open(url: &str, address: IpAddr) -> Outcome<WebSocketStream<TcpStream>> {
    let host = url.strip_prefix("http://").ok_or("not HTTP")?;
    let mut request = format!("ws://{host}/graphql/ws").into_client_request()?;
    request.headers_mut().insert("sec-websocket-protocol", "graphql-transport-ws".parse()?);
    let (mut stream, _) = client_async(request, connect(url, address).await?).await?;
    stream.send(Message::text(json!({ "type": "connection_init" }).to_string())).await?;
    Ok(stream)
}

fn subscribe(id: usize, query: &str, ids: &[String]) -> Message {
    let payload = json!({ "query": query, "variables": { "ids": ids } });
    Message::text(json!({ "type": "subscribe", "id": id.to_string(), "payload": payload }).to_string())
}

/// Sockets until one is refused, each with as many subscriptions as may be.
async fn questions(url: &str, address: IpAddr) -> Outcome<()> {
    let ids: Vec<String> = (1..=100).map(|n| format!("note_{n}")).collect();
    let mut open_sockets = Vec::new();
    for socket in 0.. {
        let Ok(stream) = open(url, address).await else { break };
        let (mut sending, mut receiving) = stream.split();
        open_sockets.push(tokio::spawn(async move { while receiving.next().await.is_some() {} }));
        for n in 0..SUBSCRIPTIONS {
            let query = format!(
                "subscription ($ids: [ID!]!) {{ noteCountsChanged(noteIds: $ids) {{ id a{socket}_{n}: likeCount }} }}"
            );
            if sending.send(subscribe(n, &query, &ids)).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        std::mem::forget(sending); // stays open until the process ends
    }
    std::future::pending().await
}

/// Each subscription is another document, so nothing is shared.
async fn watch(url: &str, address: IpAddr, socket: usize) -> Outcome<()> {
    let mut stream = open(url, address).await?;
    let ids: Vec<String> = (1..=10).map(|n| format!("note_{n}")).collect();
    for n in 0..SUBSCRIPTIONS {
        let query = format!(
            "subscription ($ids: [ID!]!) {{ noteCountsChanged(noteIds: $ids, maxRate: 60) {{
               id likeCount s{socket}n{n}: title
               author {{ notes(first: 20) {{ nodes {{ id title likeCount }} }} }}
               comments(first: 20) {{ nodes {{ id likeCount }} }} likers(first: 20) {{ nodes {{ id name }} }} }} }}"
        );
        stream.send(subscribe(n, &query, &ids)).await?;
        tokio::time::sleep(Duration::from_millis(25)).await; // within the messages that a socket may send
    }
    while let Some(message) = stream.next().await {
        let message = message?.into_text()?;
        if serde_json::from_str::<Value>(&message).is_ok_and(|message| message["type"] == "error") {
            return Err(format!("a subscription was refused, so this is no attack: {message}").into());
        }
    }
    Ok(())
}

/// As often as an address may write.
async fn flip(url: &str) -> Outcome<()> {
    let http = reqwest::Client::builder().local_address(IpAddr::from(FLIPPER)).build()?;
    for n in 0_usize.. {
        let action = if n / 10 % 2 == 0 { "likeNote" } else { "unlikeNote" };
        let query =
            format!("mutation {{ {action}(input: {{ noteId: \"note_{}\" }}) {{ changed }} }}", n % 10 + 1);
        send(&http, url, &json!({ "query": query })).await?;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}
