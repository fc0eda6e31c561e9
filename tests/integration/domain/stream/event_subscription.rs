//! The stream of events as a subscription: pages are pushed after a cursor, none is missed and none comes twice.

use plaudit_token_auth::Role;
use serde_json::{Value, json};
use sqlx::PgPool;
use support::{EventStream, SOON, Server, Socket, StreamItem, eventually, token, token_as};

const EVENTS: &str = "subscription ($first: Int, $after: String) { events(first: $first, after: $after) {
    nodes { cursor type number } edges { cursor } pageInfo { hasNextPage endCursor } } }";

/// Writes events by one transaction, each with its number.
async fn tell(sql: &PgPool, numbers: std::ops::Range<i32>) {
    let insert = "INSERT INTO event (position, at, actor_id, target_id, recipient_id, number, kind, is_on)
        SELECT block.first + place - 1, now(), 0, 1, 0, number, 112, false
        FROM (SELECT take_event_block() AS first OFFSET 0) AS block
        CROSS JOIN unnest($1::integer[]) WITH ORDINALITY AS new (number, place)";
    sqlx::query(insert).bind(numbers.collect::<Vec<_>>()).execute(sql).await.unwrap();
}

/// A service that has subscribed, and what it has received.
struct Reader {
    socket: Socket,
    first: i64,
    numbers: Vec<i64>,
    /// The last `endCursor`.
    end: Value,
}

impl Reader {
    /// Reads the first message, too.
    async fn begin(server: &Server, first: i64, after: &Value) -> Self {
        let mut socket = Socket::open(&server.url, Some(token_as(Role::Service, "a service"))).await;
        socket.subscribe("events", EVENTS, json!({ "first": first, "after": after })).await;
        let mut reader = Self { socket, first, numbers: Vec::new(), end: Value::Null };
        reader.read().await;
        reader
    }

    async fn read(&mut self) {
        let page = self.socket.data().await["events"].take();
        let cursors = |items: &str| -> Vec<Value> {
            page[items].as_array().unwrap().iter().map(|item| item["cursor"].clone()).collect()
        };
        assert_eq!(cursors("nodes"), cursors("edges"));
        assert!(cursors("nodes").len() <= self.first as usize, "{page}");
        self.end = page["pageInfo"]["endCursor"].clone();
        assert!(cursors("nodes").last().is_none_or(|last| *last == self.end), "{page}");
        let numbers = page["nodes"].as_array().unwrap().iter();
        self.numbers.extend(numbers.map(|event| event["number"].as_i64().unwrap()));
    }

    async fn until(&mut self, last: i64) -> Vec<i64> {
        while self.numbers.last() != Some(&last) {
            self.read().await;
        }
        self.numbers.clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_goes_on_after_its_cursor_on_any_transport_and_after_a_kill() {
    let mut server = Server::start(&[]);
    let sql = server.stores().sql().await;
    tell(&sql, 1..11).await;
    let service = server.client_as(Role::Service, "a service");
    let oldest = service.data("{ events(first: 4) { pageInfo { endCursor } } }", json!({})).await;
    let after = &oldest["events"]["pageInfo"]["endCursor"];
    let mut reader = Reader::begin(&server, 3, after).await;
    assert_eq!(reader.numbers, [5, 6, 7]);
    tell(&sql, 11..13).await;
    assert_eq!(reader.until(12).await, (5..13).collect::<Vec<i64>>());

    // Two subscriptions with equal documents share executions, whatever each of them has.
    let mut behind = Reader::begin(&server, 3, after).await;
    tell(&sql, 13..20).await;
    assert_eq!(behind.until(19).await, (5..20).collect::<Vec<i64>>());
    assert_eq!(reader.until(19).await, (5..20).collect::<Vec<i64>>());

    let token = Some(token_as(Role::Service, "a service"));
    let variables = json!({ "first": 3, "after": reader.end });
    let mut events = EventStream::open(&server.url, token, EVENTS, variables).await;
    let first = events.result().await["data"]["events"].take();
    assert_eq!((&first["nodes"], &first["pageInfo"]["endCursor"]), (&json!([]), &reader.end));
    tell(&sql, 20..21).await;
    let next = events.result().await["data"]["events"].take();
    assert_eq!(next["nodes"][0]["number"], 20);

    tell(&sql, 21..24).await;
    // The stores go down with it.
    server.kill();
    server.start_again();
    let mut again = Reader::begin(&server, 3, &next["pageInfo"]["endCursor"]).await;
    assert_eq!(again.until(23).await, [21, 22, 23]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_without_a_cursor_begins_at_the_end_and_tells_where_that_is() {
    let server = Server::start(&[]);
    let sql = server.stores().sql().await;
    let mut of_none = Reader::begin(&server, 20, &Value::Null).await;
    assert!(of_none.numbers.is_empty() && of_none.end.is_string(), "also of an empty stream");
    tell(&sql, 1..4).await;
    assert_eq!(of_none.until(3).await, [1, 2, 3]);
    let begun = Reader::begin(&server, 20, &Value::Null).await;
    assert_eq!((&begun.numbers, &begun.end), (&vec![], &of_none.end));
    tell(&sql, 4..6).await;
    let mut from_there = Reader::begin(&server, 20, &begun.end).await;
    assert_eq!(from_there.until(5).await, [4, 5]);

    // What happens, not only what a test writes.
    let ann = server.client_as(Role::Service, "ann");
    let input = json!({ "title": "A", "body": "B" });
    let note = ann.act("createNote", input, "note { id }").await["note"]["id"].clone();
    ann.act("likeNote", json!({ "noteId": note }), "changed").await;
    let page = from_there.socket.data().await["events"].take();
    assert_eq!(page["nodes"][0]["type"], "LIKED", "{page}");
}

/// The error that a subscription is refused with.
async fn refusal(server: &Server, token: String, variables: Value) -> Value {
    let mut socket = Socket::open(&server.url, Some(token)).await;
    socket.subscribe("events", EVENTS, variables).await;
    let message = socket.receive().await;
    assert_eq!(message["type"], "error", "{message}");
    message["payload"][0]["extensions"].clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_to_events_is_refused_as_the_query_is() {
    let server = Server::start(&[]);
    let service = || token_as(Role::Service, "a service");
    for token in [token("somebody"), token_as(Role::Moderator, "a moderator")] {
        assert_eq!(refusal(&server, token, json!({})).await["code"], "FORBIDDEN");
    }
    for after in ["", "x", "42", &"0".repeat(49)] {
        let error = refusal(&server, service(), json!({ "after": after })).await;
        assert_eq!(error["argument"], "after", "{error}");
    }
    for first in [0, 101, -1] {
        let error = refusal(&server, service(), json!({ "first": first })).await;
        assert_eq!(error["argument"], "first", "{error}");
    }
    let other = refusal(&server, service(), json!({ "after": "0".repeat(48) })).await;
    assert_eq!(other["reason"], "OTHER_INSTALLATION", "{other}");
    let sql = server.stores().sql().await;
    tell(&sql, 1..4).await;
    let mut reader = Reader::begin(&server, 2, &Value::Null).await;
    tell(&sql, 4..7).await;
    reader.until(6).await;
    // As by a failover that lost the last event.
    sqlx::query("DELETE FROM event WHERE number = 6").execute(&sql).await.unwrap();
    let lost = refusal(&server, service(), json!({ "after": reader.end })).await;
    assert_eq!(lost["reason"], "EVENTS_LOST", "{lost}");
    assert_eq!(Reader::begin(&server, 2, &lost["continueAfter"]).await.numbers, [0; 0]);

    let off = Server::start(&["--event-retention", "0s"]);
    assert_eq!(refusal(&off, service(), json!({})).await["code"], "FORBIDDEN");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_ends_when_events_after_its_cursor_are_gone() {
    let server = Server::start(&[]);
    let sql = server.stores().sql().await;
    tell(&sql, 1..4).await;
    let mut reader = Reader::begin(&server, 20, &Value::Null).await;
    let variables = json!({ "after": reader.end });
    let token = Some(token_as(Role::Service, "a service"));
    let mut events = EventStream::open(&server.url, token, EVENTS, variables).await;
    events.result().await;
    // What follows the cursor is never seen.
    server.stores().delete_events().await;
    let last = reader.socket.receive().await;
    let error = &last["payload"]["errors"][0]["extensions"];
    assert_eq!((&last["type"], &error["reason"]), (&json!("next"), &json!("CURSOR_TOO_OLD")), "{last}");
    let complete = reader.socket.receive().await;
    assert_eq!(complete, json!({ "type": "complete", "id": "events" }));
    assert_eq!(events.result().await["errors"][0]["extensions"]["reason"], "CURSOR_TOO_OLD");
    assert_eq!(events.next_item().await, Some(StreamItem::Complete));
    tell(&sql, 4..5).await;
    assert_eq!(Reader::begin(&server, 20, &error["continueAfter"]).await.numbers, [4]);
}

/// Pages of about 80 kB, so that buffers of the connection are full soon.
const WIDE: &str = "subscription ($after: String) { events(first: 100, after: $after) {
    nodes { number a: cursor b: cursor c: cursor d: cursor e: cursor f: cursor g: cursor h: cursor i: cursor j: cursor
            k: cursor l: cursor m: cursor } } }";

#[tokio::test(flavor = "multi_thread")]
async fn a_subscription_that_is_not_read_costs_no_more_than_what_its_connection_takes() {
    const PAGES: i64 = 400;
    let server = Server::start(&[]);
    let sql = server.stores().sql().await;
    let after = Reader::begin(&server, 1, &Value::Null).await.end;
    for first in (1..=PAGES as i32 * 100).step_by(10_000) {
        tell(&sql, first..first + 10_000).await;
    }
    // Looks for events all the time; nothing comes.
    let _idle = Reader::begin(&server, 1, &Value::Null).await;
    let mut slow = Socket::open(&server.url, Some(token_as(Role::Service, "a service"))).await;
    slow.subscribe("events", WIDE, json!({ "after": after })).await;
    let sent = || server.metric("plaudit_fanout_deliveries_total");
    let looks = || server.metric("plaudit_fanout_executions_total");
    let stalled = eventually("the connection is full", SOON, || async {
        let (sent_before, looks_before) = (sent().await, looks().await);
        eventually("a few looks", SOON, || async { (looks().await >= looks_before + 8.0).then_some(()) })
            .await;
        (sent_before > 10.0 && sent().await == sent_before).then_some(sent_before)
    })
    .await;
    assert!(stalled < PAGES as f64 / 2.0, "{stalled} pages were sent to a reader that reads nothing");
    let mut next = 1;
    while next <= PAGES * 100 {
        for event in slow.data().await["events"]["nodes"].as_array().unwrap() {
            assert_eq!(event["number"], next);
            next += 1;
        }
    }
}
