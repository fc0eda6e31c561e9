//! Events of random subscriptions, on the same stores: what one action changes is shown as the oracle shows it.

use std::collections::BTreeMap;

use plaudit_catalogue::primitives::{Id, UserId};
use plaudit_domain::inbox_of;
use plaudit_embedded_stores::AppendFsync;
use plaudit_graphql::oracle::{Object, Presence, parse_any};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::{
    ANN, BEA, Comparison, MODERATOR, Oracle, SERVICE,
    answer::Answer,
    answered, callers,
    data::fill,
    generator::{Generator, Request},
    schema::Schema,
};
use support::{Answer as Judgement, Client, ModerationService, Server, Socket, Stores};

/// Fields that follow an action moments later, or depend on the clock.
const LATER: [&str; 6] = ["activity", "entries", "hotNotes", "inbox", "likers", "viewCount"];

/// What is watched, and how it is changed. An action changes no counts but those of the watched object, so
/// events of one version are equal.
enum Watched {
    Note(String),
    User(String),
    Comment(String),
    Group { id: String, note: String },
    Inbox(String),
}

impl Watched {
    /// The root field, and the type of its objects.
    fn field(&self) -> (String, &'static str) {
        match self {
            Self::Note(id) => (format!("noteCountsChanged(noteIds: [\"{id}\"])"), "Note"),
            Self::User(id) => (format!("userCountsChanged(userIds: [\"{id}\"])"), "User"),
            Self::Comment(id) => (format!("commentCountsChanged(commentIds: [\"{id}\"])"), "Comment"),
            Self::Group { id, .. } => (format!("groupCountsChanged(groupIds: [\"{id}\"])"), "Group"),
            Self::Inbox(_) => ("inboxCountsChanged".to_owned(), "Inbox"),
        }
    }

    async fn object(&self, stores: &Stores) -> Object {
        let entity = match self {
            Self::Note(id) | Self::User(id) | Self::Comment(id) | Self::Group { id, .. } => {
                parse_any("id", id).unwrap()
            }
            // It has no row.
            Self::Inbox(_) => {
                let owner = UserId(Id::try_from(stores.user_of("ann").await).unwrap());
                return Object::Entity(inbox_of(owner), Presence::Named);
            }
        };
        Object::sought(entity)
    }

    /// Changes it by the action with this number. Returns the version of its counts.
    async fn change(&self, callers: &[Client], number: usize) -> u64 {
        let (input, is_even) = (|name: &str, id: &str| json!({ name: id }), number.is_multiple_of(2));
        let changed = match self {
            Self::Note(id) => {
                let input = json!({ "noteId": id, "score": number % 11 });
                callers[BEA].act("rateNote", input, "of: note { countsVersion }").await
            }
            Self::User(id) => {
                let input = json!({ "userId": id, "amount": 1, "reason": "An action" });
                callers[SERVICE].act("grantCoins", input, "of: user { countsVersion }").await
            }
            Self::Comment(id) => {
                let action = if is_even { "likeComment" } else { "unlikeComment" };
                callers[BEA].act(action, input("commentId", id), "of: comment { countsVersion }").await
            }
            Self::Group { note, .. } => {
                let action = if is_even { "featureNote" } else { "unfeatureNote" };
                let changed = callers[MODERATOR].act(
                    action,
                    input("noteId", note),
                    "note { of: group { countsVersion } }",
                );
                changed.await["note"].clone()
            }
            Self::Inbox(sender) => {
                let recipient =
                    callers[ANN].data("{ viewer { user { id } } }", json!({})).await["viewer"]["user"]["id"]
                        .clone();
                let input = json!({ "senderId": sender, "recipientId": recipient });
                callers[SERVICE].act("recordMessage", input, "recipient { id }").await;
                let input = json!({ "badges": ["MESSAGES"] });
                callers[ANN].act("markInboxRead", input, "of: inbox { countsVersion }").await
            }
        };
        changed["of"]["countsVersion"].as_u64().unwrap_or_else(|| panic!("{changed}"))
    }
}

/// A running subscription, and its events by the version of the counts.
struct Watcher {
    socket: Socket,
    events: BTreeMap<u64, Answer>,
}

impl Watcher {
    async fn start(url: &str, client: &Client, (query, variables): &Request) -> Self {
        let mut socket = Socket::open(url, client.token().map(str::to_owned)).await;
        socket.subscribe("x", query, variables.clone()).await;
        Self { socket, events: BTreeMap::new() }
    }

    /// Reads the next message. The answer, if it is no event of a version.
    async fn read(&mut self) -> Result<(), Answer> {
        let text = loop {
            match self.socket.frame().await {
                Message::Text(text) => break text.to_string(),
                Message::Close(reason) => panic!("the server closed the socket: {reason:?}"),
                _ => {}
            }
        };
        let place = text.find("\"payload\":").unwrap() + "\"payload\":".len();
        let payload = &text[place..text.len() - 1];
        let message: Value = serde_json::from_str(&text).unwrap();
        if message["type"] == "error" {
            return Err(Answer::of(&format!("{{\"errors\":{}}}", message["payload"])));
        }
        let answer = Answer::of(payload);
        let object = message["payload"]["data"].as_object().and_then(|data| data.values().next());
        let Some(version) = object.and_then(|object| object["version"].as_u64()) else { return Err(answer) };
        self.events.insert(version, answer);
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn events_of_random_subscriptions_are_executed_by_plans_as_by_the_oracle() {
    // Nobody but the test decides about comments.
    let silent = ModerationService::start(|_| Judgement::Silence).await;
    let flags = [&silent.flags("2m")[..], &["--reply-wait", "1m"]].concat();
    let stores = Stores::start(AppendFsync::EverySec).await;
    let server = Server::start_on(&stores, &flags);
    let ids = fill(&server, &stores).await;
    let oracle = Oracle::start(&stores);

    let schema = Schema::of_plaudit();
    let clients = callers(&server);
    let all_watched = watched(&ids);
    let comparison = Comparison::of_seconds(10);
    let (mut compared, mut refused) = (0, 0);
    for (number, seed) in comparison.seeds().enumerate() {
        let watched = &all_watched[number % all_watched.len()];
        let mut generator = Generator::new(&schema, &ids, seed).without(&LATER);
        let (field, object) = watched.field();
        let caller = if object == "Inbox" { ANN } else { generator.random.below(clients.len()) };
        let selection = generator.selection(object, 2);
        let request = generator
            .document("subscription", &format!("{{ {field} {{ version: countsVersion ... {selection} }} }}"));
        let about =
            format!("PLANS_SEED={}, subscription {number}: {} {}", comparison.seed, request.0, request.1);
        let mut watcher = Watcher::start(&server.url, &clients[caller], &request).await;
        if let Err(first) = watcher.read().await {
            let object = watched.object(&stores).await;
            assert_eq!(first, Answer::of(&oracle.event(caller, &request, object).await), "{about}");
            refused += 1;
            continue;
        }
        let version = watched.change(&clients, number / all_watched.len()).await;
        while last(&watcher) < version {
            assert_eq!(watcher.read().await, Ok(()), "{about}");
        }
        stores.rest().await;
        let object = watched.object(&stores).await;
        let expected = oracle.event(caller, &request, object).await;
        let shown: Value = serde_json::from_str(&expected).unwrap();
        let root = shown["data"].as_object().and_then(|data| data.values().next());
        let version =
            root.and_then(|object| object["version"].as_u64()).unwrap_or_else(|| panic!("{expected}"));
        while last(&watcher) < version {
            assert_eq!(watcher.read().await, Ok(()), "{about}");
        }
        assert_eq!(watcher.events.get(&version), Some(&Answer::of(&expected)), "version {version}, {about}");
        compared += 1;
    }
    println!("{compared} subscriptions from seed {}, {refused} refused", comparison.seed);
    assert!(compared > refused, "{refused} refused");
    assert!(answered(&server).await >= f64::from(compared));
}

fn watched(ids: &[String]) -> [Watched; 5] {
    let id = |kind: &str| ids.iter().find(|id| id.starts_with(kind)).unwrap().clone();
    // The first comments wait for a decision.
    let comment = ids.iter().rfind(|id| id.starts_with("comment_")).unwrap().clone();
    [
        Watched::Note(id("note_")),
        Watched::User(id("user_")),
        Watched::Comment(comment),
        Watched::Group { id: id("group_"), note: id("note_") },
        Watched::Inbox(ids.iter().rfind(|id| id.starts_with("user_")).unwrap().clone()),
    ]
}

fn last(watcher: &Watcher) -> u64 {
    *watcher.events.last_key_value().unwrap().0
}
