//! Properties of every edge: counted once, undone once, idempotent.

use futures_util::{StreamExt, stream};
use plaudit_catalogue::EdgeKind;
use redis::AsyncCommands;
use serde_json::{Value, json};
use support::{Client, Server, Stores, note, user};

/// The two mutations of an edge, and where its effect is visible.
struct Pair {
    turn_on: &'static str,
    turn_off: &'static str,
    argument: &'static str,
    /// Field of the payload with the target; the type of the target.
    target: &'static str,
    count: &'static str,
    /// Field that says whether the edge of the viewer is on.
    viewer_state: &'static str,
    table: &'static str,
    /// Query of the total in PostgreSQL.
    total: &'static str,
}

const PAIRS: [Pair; EdgeKind::ALL.len()] = [
    Pair {
        turn_on: "likeNote",
        turn_off: "unlikeNote",
        argument: "noteId",
        target: "note",
        count: "likeCount",
        viewer_state: "viewerHasLiked",
        table: "note_like",
        total: "SELECT likes FROM note_counts WHERE id = $1",
    },
    Pair {
        turn_on: "collectNote",
        turn_off: "uncollectNote",
        argument: "noteId",
        target: "note",
        count: "collectCount",
        viewer_state: "viewerHasCollected",
        table: "note_collect",
        total: "SELECT collects FROM note_counts WHERE id = $1",
    },
    Pair {
        turn_on: "likeComment",
        turn_off: "unlikeComment",
        argument: "commentId",
        target: "comment",
        count: "likeCount",
        viewer_state: "viewerHasLiked",
        table: "comment_like",
        total: "SELECT likes FROM comment_counts WHERE id = $1",
    },
    Pair {
        turn_on: "follow",
        turn_off: "unfollow",
        argument: "userId",
        target: "user",
        count: "followerCount",
        viewer_state: "viewerIsFollowing",
        table: "follow",
        total: "SELECT followers FROM user_counts WHERE id = $1",
    },
    Pair {
        turn_on: "joinGroup",
        turn_off: "leaveGroup",
        argument: "groupId",
        target: "group",
        count: "memberCount",
        viewer_state: "viewerIsMember",
        table: "group_join",
        total: "SELECT members FROM group_counts WHERE id = $1",
    },
];

impl Pair {
    async fn new_target(&self, stores: &Stores) -> (i64, String) {
        let id = match self.target {
            "note" => stores.new_note().await,
            "comment" => stores.new_comment(stores.new_note().await).await,
            "user" => stores.new_user().await,
            _ => stores.new_group().await,
        };
        (id, format!("{}_{id}", self.target))
    }

    fn input(&self, target: &str) -> Value {
        json!({ self.argument: target })
    }

    fn fields(&self) -> String {
        format!("changed {} {{ id {} {} countsVersion }}", self.target, self.count, self.viewer_state)
    }

    /// Returns whether anything changed, the count and the viewer's state.
    async fn switch(&self, client: &Client, target: &str, on: bool) -> (bool, i64, bool) {
        let mutation = if on { self.turn_on } else { self.turn_off };
        let payload = client.act(mutation, self.input(target), &self.fields()).await;
        let fields = &payload[self.target];
        let (changed, viewer_state) =
            (payload["changed"].as_bool().unwrap(), fields[self.viewer_state].as_bool().unwrap());
        (changed, fields[self.count].as_i64().unwrap(), viewer_state)
    }

    async fn read_count(&self, client: &Client, target: &str) -> i64 {
        let kind = format!("{}{}", self.target[..1].to_uppercase(), &self.target[1..]);
        let query = format!("query ($id: ID!) {{ node(id: $id) {{ ... on {kind} {{ {} }} }} }}", self.count);
        client.data(&query, json!({ "id": target })).await["node"][self.count].as_i64().unwrap()
    }
}

#[test]
fn the_pairs_are_all_edges() {
    let mut tables = PAIRS.map(|pair| pair.table);
    let mut edges: Vec<&str> = EdgeKind::ALL.iter().map(|kind| kind.name()).collect();
    tables.sort_unstable();
    edges.sort_unstable();
    assert_eq!(tables[..], edges);
}

#[tokio::test]
async fn every_edge_is_counted_once_and_undone_once_also_when_requests_repeat() {
    let server = Server::shared();
    let stores = server.stores();
    for pair in &PAIRS {
        let client = server.client(&format!("ann does {}", pair.turn_on));
        let (_, target) = pair.new_target(&stores).await;
        let mutation = pair.turn_on;
        assert_eq!(pair.switch(&client, &target, false).await, (false, 0, false), "{mutation}");
        assert_eq!(pair.switch(&client, &target, true).await, (true, 1, true), "{mutation}");
        assert_eq!(pair.switch(&client, &target, true).await, (false, 1, true), "{mutation}");
        assert_eq!(pair.switch(&client, &target, false).await, (true, 0, false), "{mutation}");
        assert_eq!(pair.switch(&client, &target, false).await, (false, 0, false), "{mutation}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_switches_of_64_users_are_counted_exactly_for_every_edge() {
    let server = Server::shared();
    let stores = server.stores();
    for pair in &PAIRS {
        let (id, target) = pair.new_target(&stores).await;
        // Every user switches on twice; every fourth then switches off twice.
        let users = (0..64).map(|i| {
            let (client, target) = (server.client(&format!("racer {i}")), target.clone());
            async move {
                let mut changes = 0;
                for on in [true, true] {
                    changes += usize::from(pair.switch(&client, &target, on).await.0);
                }
                for on in [false, false].into_iter().filter(|_| i % 4 == 0) {
                    changes += usize::from(pair.switch(&client, &target, on).await.0);
                }
                changes
            }
        });
        let changes: Vec<usize> = stream::iter(users).buffer_unordered(64).collect().await;
        assert_eq!(changes.iter().sum::<usize>(), 64 + 16, "{}", pair.turn_on);
        assert_eq!(pair.read_count(&server.anonymous(), &target).await, 48, "{}", pair.turn_on);
        stores.rest().await;
        let rows = format!("SELECT count(*) FROM {} WHERE target_id = $1 AND included AND is_on", pair.table);
        assert_eq!(stores.number(&rows, id).await, 48, "{}", pair.turn_on);
        assert_eq!(stores.number(pair.total, id).await, 48, "{}", pair.turn_on);
        assert_eq!(pair.read_count(&server.anonymous(), &target).await, 48, "{}", pair.turn_on);
    }
}

#[tokio::test]
async fn for_every_edge_an_idempotency_key_acts_once_also_after_the_edge_was_switched_off() {
    let server = Server::shared();
    let stores = server.stores();
    for pair in &PAIRS {
        let client = server.client(&format!("bob retries {}", pair.turn_on));
        let (_, target) = pair.new_target(&stores).await;
        let mut input = pair.input(&target);
        input["idempotencyKey"] = json!("the key");
        for _ in 0..2 {
            let payload = client.act(pair.turn_on, input.clone(), &pair.fields()).await;
            assert_eq!((&payload["changed"], &payload[pair.target][pair.count]), (&json!(true), &json!(1)));
        }
        pair.switch(&client, &target, false).await;
        let late = client.act(pair.turn_on, input.clone(), &pair.fields()).await;
        assert_eq!((&late["changed"], &late[pair.target][pair.count]), (&json!(true), &json!(0)));
        let other = client.refused(pair.turn_off, input).await;
        assert_eq!(other, ("BAD_USER_INPUT".into(), Some("idempotencyKey".into())));
    }
}

/// One client could otherwise fill Redis with keys of requests that change nothing.
#[tokio::test]
async fn the_key_of_a_switch_that_changes_nothing_is_kept_for_minutes_and_gives_the_same_result() {
    let server = Server::shared();
    let stores = server.stores();
    let n = note(stores.new_note().await);
    let client = server.client("cem repeats himself");
    let like = async |key: &str| {
        let input = json!({ "noteId": n, "idempotencyKey": key });
        client.act("likeNote", input, "changed").await["changed"].clone()
    };
    for _ in 0..2 {
        assert_eq!([like("that likes").await, like("that changes nothing").await], [true, false]);
    }
    client.unlike(&n).await;
    assert_eq!([like("that likes").await, like("that changes nothing").await], [true, false]);
    assert_eq!(client.note(&n).await["viewerHasLiked"], false);

    let mut redis = stores.redis().await;
    let mut life_ms = async |key: &str| {
        let found: Vec<String> = redis.keys(format!("*:idem:*:{key}")).await.unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        redis.pttl::<_, u64>(&found[0]).await.unwrap()
    };
    let (hour, ten_minutes) = (3_600_000, 600_000);
    assert!((23 * hour..=24 * hour).contains(&life_ms("that likes").await));
    assert!((1..=ten_minutes).contains(&life_ms("that changes nothing").await));

    // Actions that are no edges, by a row as well.
    let rate = async |key: &str| {
        let input = json!({ "noteId": n, "score": 5, "idempotencyKey": key });
        client.act("rateNote", input, "changed").await["changed"].clone()
    };
    for _ in 0..2 {
        assert_eq!([rate("that rates").await, rate("that rates again").await], [true, false]);
    }
    assert!((23 * hour..=24 * hour).contains(&life_ms("that rates").await));
    assert!((1..=ten_minutes).contains(&life_ms("that rates again").await));
    let age =
        "SELECT extract(epoch FROM now() - created_at)::bigint * 1000 FROM idempotency_key WHERE key = $1";
    let mut ages = Vec::new();
    for key in ["that rates", "that rates again"] {
        ages.push(sqlx::query_scalar::<_, i64>(age).bind(key).fetch_one(&stores.sql().await).await.unwrap());
    }
    let (day, ten_minutes) = (24 * hour as i64, ten_minutes as i64);
    assert!(ages[0] < ten_minutes && ages[1] >= day - ten_minutes && ages[1] < day, "{ages:?}");
}

#[tokio::test]
async fn both_ends_of_an_edge_are_counted() {
    let server = Server::shared();
    let stores = server.stores();
    let client = server.client("cyd counts for others");
    let (n, group) = (stores.new_note().await, stores.new_group().await);
    let author = stores.number("SELECT author_id FROM note WHERE id = $1", n).await;
    let mine = "changed viewer { user { groupCount followingCount } }";
    let joined = client.act("joinGroup", json!({ "groupId": format!("group_{group}") }), mine).await;
    assert_eq!(joined["viewer"]["user"]["groupCount"], 1);
    let followed = client.act("follow", json!({ "userId": user(author) }), mine).await;
    assert_eq!(followed["viewer"]["user"]["followingCount"], 1);
    client.act("collectNote", json!({ "noteId": note(n) }), "changed").await;
    client.act("likeNote", json!({ "noteId": note(n) }), "changed").await;
    let query =
        "query ($id: ID!) { user(id: $id) { likesReceivedCount collectsReceivedCount followerCount } }";
    let author = client.data(query, json!({ "id": user(author) })).await["user"].clone();
    let expected = json!({ "likesReceivedCount": 1, "collectsReceivedCount": 1, "followerCount": 1 });
    assert_eq!(author, expected);
}
