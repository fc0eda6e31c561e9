//! Names and pictures of users by their tokens: the newest token counts, until the user or a service decides.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use support::{Client, Issuer, Key, Server, Socket, eventually};

const PICTURE: &str = "https://img.example/ann.png";

struct Provider {
    _issuer: Issuer,
    server: Server,
    /// Before the present.
    start: i64,
}

impl Provider {
    async fn start() -> Self {
        let issuer = Issuer::start().await;
        issuer.publish(&[Key::Ed25519.public("d")]);
        let server = Server::start_without_secret(&["--jwks-url", &issuer.url]);
        Self { _issuer: issuer, server, start: chrono::Utc::now().timestamp() - 10_000 }
    }

    /// A client with a token that was issued this long after the start, in seconds.
    fn client(&self, subject: &str, issued: i64, profile: &Value) -> Client {
        let mut claims = profile.clone();
        claims["sub"] = json!(subject);
        claims["iat"] = json!(self.start + issued);
        claims["exp"] = json!(self.start + 20_000);
        self.server.anonymous().with_token(&Key::Ed25519.token("d", &claims))
    }

    /// Acts twice with such a token; returns the name and the picture that everybody sees then.
    async fn act(&self, subject: &str, issued: i64, profile: Value) -> (String, Option<String>) {
        let client = self.client(subject, issued, &profile);
        for _ in 0..2 {
            client.act("createGroup", json!({ "name": "A group" }), "__typename").await;
        }
        self.seen(subject).await
    }

    async fn seen(&self, subject: &str) -> (String, Option<String>) {
        let query = "query ($id: ID!) { user(id: $id) { name avatarUrl } }";
        let data = self.server.anonymous().data(query, json!({ "id": format!("user:{subject}") })).await;
        let text = |field: &str| data["user"][field].as_str().map(str::to_owned);
        (text("name").unwrap(), text("avatarUrl"))
    }

    async fn updates(&self) -> f64 {
        self.server.metric("plaudit_actions_total{kind=\"update_profile\",change=\"on\"}").await
    }
}

fn shown(name: &str, avatar_url: Option<&str>) -> (String, Option<String>) {
    (name.to_owned(), avatar_url.map(str::to_owned))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_token_names_its_user_until_the_user_does() {
    let provider = Provider::start().await;
    let ann = json!({ "name": "Ann", "picture": PICTURE });
    assert_eq!(provider.act("ann", 10, ann.clone()).await, shown("Ann", Some(PICTURE)));
    assert_eq!(provider.updates().await, 0.0);
    // A part that the token lacks, or that cannot be shown, stays.
    assert_eq!(provider.act("ann", 20, json!({ "name": "Ann B." })).await, shown("Ann B.", Some(PICTURE)));
    for useless in [json!({}), json!({ "name": "\u{3164}", "picture": "http://img.example/a.png" })] {
        assert_eq!(provider.act("ann", 30, useless).await, shown("Ann B.", Some(PICTURE)));
    }
    for not_newer in [5, 10, 15, 20] {
        assert_eq!(provider.act("ann", not_newer, ann.clone()).await, shown("Ann B.", Some(PICTURE)));
    }
    assert_eq!(provider.updates().await, 1.0);

    // A query changes nothing.
    let newer = provider.client("ann", 40, &json!({ "name": "Ann C." }));
    newer.data("{ viewer { user { name } } }", json!({})).await;
    assert_eq!(provider.seen("ann").await, shown("Ann B.", Some(PICTURE)));
    assert_eq!(provider.act("ann", 40, json!({ "name": "Ann C." })).await, shown("Ann C.", Some(PICTURE)));

    let own = json!({ "name": "Ann C." });
    for is_new in [true, false] {
        let reply = newer.act("updateProfile", own.clone(), "changed").await;
        assert_eq!(reply["changed"], is_new, "from now on it is the user's own");
    }
    for issued in [50, 60] {
        let told = json!({ "name": "Anna", "picture": "https://img.example/new.png" });
        assert_eq!(provider.act("ann", issued, told).await, shown("Ann C.", Some(PICTURE)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_a_service_sets_wins_over_that_of_any_later_token() {
    let provider = Provider::start().await;
    let service = provider.client("the app", 10, &json!({ "role": "service" }));
    assert_eq!(provider.act("eve", 10, json!({ "name": "Eve" })).await, shown("Eve", None));
    // One who has acted, and one who has not.
    let users = json!([{ "subject": "eve", "name": "Eva" }, { "subject": "fay", "name": "Fay" }]);
    for is_new in [true, false] {
        let reply = service.act("upsertUsers", json!({ "users": users }), "changed").await;
        assert_eq!(reply["changed"], is_new);
    }
    let updates = provider.updates().await;
    for (subject, name) in [("eve", "Eva"), ("fay", "Fay")] {
        for issued in [5, 20, 30] {
            let told = json!({ "name": "Another" });
            assert_eq!(provider.act(subject, issued, told).await, shown(name, None), "{subject} {issued}");
        }
    }
    assert_eq!(provider.updates().await, updates, "no token changed a profile");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_without_a_name_gets_that_of_any_later_token_and_a_time_to_come_is_no_advantage() {
    let provider = Provider::start().await;
    let (name, _) = provider.act("bea", 30, json!({})).await;
    assert!(name.starts_with("User "), "{name}");
    assert_eq!(provider.act("bea", 10, json!({ "name": "Bea" })).await, shown("Bea", None));
    assert_eq!(provider.act("bea", 20, json!({ "name": "Bea B." })).await, shown("Bea B.", None));

    // Issued in the future: as if issued now.
    assert_eq!(provider.act("cia", 1_000_000, json!({ "name": "Cia" })).await, shown("Cia", None));
    let later = chrono::Utc::now().timestamp() - provider.start + 1;
    eventually("a second passes", Duration::from_secs(10), || async {
        (chrono::Utc::now().timestamp() - provider.start > later).then_some(())
    })
    .await;
    assert_eq!(provider.act("cia", later + 1, json!({ "name": "Cia B." })).await, shown("Cia B.", None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_name_is_written_once_by_many_requests_reaches_open_pages_and_costs_the_others_nothing() {
    let provider = Provider::start().await;
    provider.act("dan", 10, json!({ "name": "Dan" })).await;
    let note = provider.client("dan", 10, &json!({ "name": "Dan" }));
    let input = json!({ "title": "A note", "body": "Words" });
    let note = note.act("createNote", input, "note { id }").await["note"]["id"].clone();

    let mut page = Socket::open(&provider.server.url, None).await;
    let query = "subscription ($ids: [ID!]!) { userCountsChanged(userIds: $ids) { name } }";
    page.subscribe("1", query, json!({ "ids": ["user:dan"] })).await;
    assert_eq!(page.data().await["userCountsChanged"]["name"], "Dan");

    let newer = provider.client("dan", 20, &json!({ "name": "Dan B." })).retrying();
    let like = async || newer.act("likeNote", json!({ "noteId": note }), "note { likeCount }").await;
    join_all((0..32).map(|_| like())).await;
    while page.data().await["userCountsChanged"]["name"] != "Dan B." {}
    assert_eq!(provider.seen("dan").await, shown("Dan B.", None));
    assert_eq!(provider.updates().await, 1.0);

    // Warm: newer tokens with the same name cost what the same token costs.
    let query = "mutation ($id: ID!) { likeNote(input: { noteId: $id }) { changed } }";
    let variables = json!({ "id": note });
    let same = provider.client("dan", 20, &json!({ "name": "Dan B." }));
    let newest = provider.client("dan", 30, &json!({ "name": "Dan B." }));
    let mut costs = Vec::new();
    for client in [&same, &same, &newest] {
        let reply = client.send(query, variables.clone()).await;
        costs.push((reply.redis_round_trips, reply.sql_statements));
    }
    assert_eq!(costs[1].1, 0, "{costs:?}");
    assert_eq!(costs[1], costs[2], "{costs:?}");
    assert_eq!(provider.updates().await, 1.0);
}
