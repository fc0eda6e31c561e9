//! What attackers do, each without a pause and without a token, until the process is killed.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use futures_util::{SinkExt, StreamExt, future::join_all};
use reqwest::RequestBuilder;
use serde_json::{Value, json};
use tokio::{
    io::AsyncWriteExt,
    net::{TcpSocket, TcpStream},
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest},
};

use super::server::token;
use crate::support::Outcome;

/// The subject who wrote the longest notes.
const WRITER: &str = "a writer of the longest notes";
/// Clients of one address.
const CLIENTS: usize = 8;
/// Sockets of one address, and subscriptions of each.
const SOCKETS: usize = 4;
const SUBSCRIPTIONS: usize = 50;
const CONNECTIONS: usize = 900;
/// As often as an address may write, in milliseconds.
const FLIPS: u64 = 20;
/// The address of whoever flips what attackers watch.
const FLIPPER: [u8; 4] = [127, 0, 2, 1];

pub struct Attack {
    name: &'static str,
    addresses: u8,
    kind: Kind,
}

/// Requests of an address that are on the way at the same time, where a worker does most of their work.
const REFUSED: usize = 32;
/// Connections of the server that two addresses hold.
const HELD: usize = 300;

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
    /// Lists that are small, many in each event, while somebody else flips 10 likes a second.
    SmallLists,
    /// Connections on which nothing is sent.
    Connections,
    /// Half of all connections, idle after a request each, and opened again whenever they are closed.
    Holding,
    /// The metrics.
    Metrics,
    /// A document of unknown names.
    Refused,
    /// A hundred ids that nothing has.
    Absent,
    /// Tokens that are almost as long as may be, and made up.
    Tokens,
    /// Edits of a text that is as long as may be.
    Edits,
    /// Bodies as long as may be.
    Uploads,
}

impl Attack {
    pub const ALL: [Self; 25] = [
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
        Self { name: "metrics", addresses: 1, kind: Kind::Metrics },
        Self { name: "metrics-of-ten", addresses: 10, kind: Kind::Metrics },
        Self { name: "refused", addresses: 1, kind: Kind::Refused },
        Self { name: "refused-of-ten", addresses: 10, kind: Kind::Refused },
        Self { name: "absent", addresses: 1, kind: Kind::Absent },
        Self { name: "absent-of-ten", addresses: 10, kind: Kind::Absent },
        Self { name: "holding-of-two", addresses: 2, kind: Kind::Holding },
        Self { name: "tokens", addresses: 1, kind: Kind::Tokens },
        Self { name: "tokens-of-ten", addresses: 10, kind: Kind::Tokens },
        Self { name: "edits", addresses: 1, kind: Kind::Edits },
        Self { name: "questions-of-four", addresses: 4, kind: Kind::Questions },
        Self { name: "small-lists", addresses: 1, kind: Kind::SmallLists },
        Self { name: "small-lists-of-ten", addresses: 10, kind: Kind::SmallLists },
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

    /// What the server under attack is started with beside its defaults.
    pub fn settings(&self) -> &'static [&'static str] {
        if matches!(self.kind, Kind::Holding) { &["--connections", "300"] } else { &[] }
    }

    /// Whether the bystander opens a connection for each request.
    pub const fn is_about_newcomers(&self) -> bool {
        matches!(self.kind, Kind::Holding)
    }

    pub async fn run(&self, url: &str, address: IpAddr) -> Outcome<()> {
        let http = reqwest::Client::builder().local_address(address).build()?;
        let graphql = format!("{url}/graphql");
        let post = |body: &Value| http.post(&graphql).json(body);
        match self.kind {
            Kind::Pages => requests(CLIENTS, |_| post(&pages())).await,
            Kind::Lists => requests(CLIENTS, |_| post(&lists())).await,
            Kind::Texts => {
                let texts = texts(url).await?;
                requests(CLIENTS, |_| post(&texts)).await;
            }
            Kind::Documents => requests(CLIENTS, |n| post(&document(n))).await,
            Kind::Uploads => requests(CLIENTS, |_| post(&json!({ "query": "#".repeat(250_000) }))).await,
            Kind::Metrics => requests(CLIENTS, |_| http.get(format!("{url}/metrics"))).await,
            Kind::Refused => {
                let unknown = unknown();
                requests(REFUSED, |_| post(&unknown)).await;
            }
            Kind::Absent => requests(CLIENTS, |n| post(&absent(n))).await,
            Kind::Tokens => {
                let (token, query) = (made_up_token(), json!({ "query": "{ __typename }" }));
                requests(REFUSED, |_| post(&query).bearer_auth(&token)).await;
            }
            Kind::Edits => {
                let (note, token) = (own_note(url).await?, token(WRITER)?);
                requests(CLIENTS, |n| post(&edit(&note, n)).bearer_auth(&token)).await;
            }
            Kind::Subscriptions => subscriptions(url, address, nested, FLIPS).await?,
            // All attackers together flip 10 times a second.
            Kind::SmallLists => {
                subscriptions(url, address, small_lists, 100 * u64::from(self.addresses)).await?;
            }
            Kind::Questions => questions(url, address).await?,
            Kind::Connections => connections(url, address).await?,
            Kind::Holding => hold(url, address).await,
        }
        Ok(())
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

/// So many clients send requests without end; `request` makes that with a number.
async fn requests(clients: usize, request: impl Fn(usize) -> RequestBuilder) {
    let client = async |client: usize| {
        for n in 0_usize.. {
            if let Ok(answer) = request(n * clients + client).send().await {
                let _ = answer.bytes().await; // refused or not
            }
        }
    };
    join_all((0..clients).map(client)).await;
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

/// The names are those that nobody has, so all of them are errors.
fn unknown() -> Value {
    let names = (0..330).map(|n| format!("unknown{n} "));
    json!({ "query": format!("{{ {} }}", names.collect::<String>()) })
}

fn absent(n: usize) -> Value {
    let first = 900_000_000 + n % 1_000_000 * 100;
    let ids: Vec<String> = (first..first + 100).map(|id| format!("note_{id}")).collect();
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { ... on Note { id likeCount } } }";
    json!({ "query": query, "variables": { "ids": ids } })
}

/// 7 kB, with the head of a token that the server's secret might have signed.
fn made_up_token() -> String {
    format!("eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.{}.{}", "A".repeat(7_000), "A".repeat(43))
}

async fn own_note(url: &str) -> Outcome<Value> {
    let query = "{ viewer { user { notes(first: 1) { nodes { id } } } } }";
    let viewer = send(&reqwest::Client::new(), url, &json!({ "query": query })).await?;
    Ok(viewer["data"]["viewer"]["user"]["notes"]["nodes"][0]["id"].clone())
}

fn edit(note: &Value, n: usize) -> Value {
    let query =
        "mutation ($id: ID!, $body: String) { updateNote(input: { noteId: $id, body: $body }) { changed } }";
    let body = format!("{n} {}", "\u{1F426}".repeat(9_000));
    json!({ "query": query, "variables": { "id": note, "body": body } })
}

/// As many connections as an address may have. Each is used once; when it is closed, the next one takes its place.
async fn hold(url: &str, address: IpAddr) {
    let one = async |_| {
        loop {
            let _ = use_once(url, address).await; // refused, or closed
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    join_all((0..HELD / 2).map(one)).await;
}

/// Until the server closes the connection.
async fn use_once(url: &str, address: IpAddr) -> Outcome<()> {
    let mut stream = connect(url, address).await?;
    stream.write_all(b"GET /graphql?query=%7B__typename%7D HTTP/1.1\r\nHost: plaudit\r\n\r\n").await?;
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(())
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

/// `query`: that of a subscription, by its number. Somebody flips every so many milliseconds.
async fn subscriptions(
    url: &str,
    address: IpAddr,
    query: impl Fn(usize) -> String + Copy,
    flips: u64,
) -> Outcome<()> {
    let watching = join_all((0..SOCKETS).map(|socket| watch(url, address, socket, query)));
    let flipping = flip(url, flips);
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

/// Each is another document, so nothing is shared.
fn nested(n: usize) -> String {
    format!(
        "subscription ($ids: [ID!]!) {{ noteCountsChanged(noteIds: $ids, maxRate: 60) {{
           id likeCount s{n}: title
           author {{ notes(first: 20) {{ nodes {{ id title likeCount }} }} }}
           comments(first: 20) {{ nodes {{ id likeCount }} }} likers(first: 20) {{ nodes {{ id name }} }} }} }}"
    )
}

/// 30 lists that differ, each a statement: six in five lengths.
fn small_lists(n: usize) -> String {
    let lists = |lists: &[&str]| -> String {
        let of_length = |first: u8| lists.iter().map(move |list| list.replace('#', &first.to_string()));
        (1..=5).flat_map(of_length).collect()
    };
    let of_note = lists(&[
        "h#: comments(first: #) { nodes { id } } ",
        "n#: comments(first: #, orderBy: NEWEST) { nodes { id } } ",
        "l#: likers(first: #) { nodes { id } } ",
    ]);
    let of_author = lists(&[
        "n#: notes(first: #) { nodes { id } } ",
        "r#: followers(first: #) { nodes { id } } ",
        "f#: following(first: #) { nodes { id } } ",
    ]);
    format!(
        "subscription ($ids: [ID!]!) {{ noteCountsChanged(noteIds: $ids, maxRate: 60) {{
           id likeCount s{n}: title {of_note} author {{ {of_author} }} }} }}"
    )
}

async fn watch(url: &str, address: IpAddr, socket: usize, query: impl Fn(usize) -> String) -> Outcome<()> {
    let mut stream = open(url, address).await?;
    let ids: Vec<String> = (1..=10).map(|n| format!("note_{n}")).collect();
    for n in 0..SUBSCRIPTIONS {
        let query = query(socket * SUBSCRIPTIONS + n);
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

async fn flip(url: &str, every_ms: u64) -> Outcome<()> {
    let http = reqwest::Client::builder().local_address(IpAddr::from(FLIPPER)).build()?;
    for n in 0_usize.. {
        let action = if n / 10 % 2 == 0 { "likeNote" } else { "unlikeNote" };
        let query =
            format!("mutation {{ {action}(input: {{ noteId: \"note_{}\" }}) {{ changed }} }}", n % 10 + 1);
        send(&http, url, &json!({ "query": query })).await?;
        tokio::time::sleep(Duration::from_millis(every_ms)).await;
    }
    Ok(())
}
