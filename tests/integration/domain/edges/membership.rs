//! Membership is exact for likes of any age and number, in bounded memory and at bounded cost.

use std::ops::Range;

use plaudit_embedded_stores::AppendFsync;
use serde_json::{Value, json};
use support::{Client, Server, Stores, key, note, user};

/// A kind of edge, with its mutations and field in the API.
struct Kind {
    /// Name in keys and of its table.
    name: &'static str,
    on: &'static str,
    off: &'static str,
    /// Type of its target.
    target: &'static str,
    field: &'static str,
}

const KINDS: [Kind; 3] = [
    Kind { name: "note_like", on: "likeNote", off: "unlikeNote", target: "note", field: "viewerHasLiked" },
    Kind {
        name: "note_collect",
        on: "collectNote",
        off: "uncollectNote",
        target: "note",
        field: "viewerHasCollected",
    },
    Kind {
        name: "comment_like",
        on: "likeComment",
        off: "unlikeComment",
        target: "comment",
        field: "viewerHasLiked",
    },
];

impl Kind {
    async fn is_on(&self, client: &Client, id: i64) -> bool {
        let Self { target, field, .. } = self;
        let query = format!(
            "{{ node(id: \"{target}_{id}\") {{ ... on Note {{ is: {} }} ... on Comment {{ is: viewerHasLiked }} }} }}",
            if *target == "note" { *field } else { "viewerHasLiked" },
        );
        client.data(&query, json!({})).await["node"]["is"].as_bool().unwrap()
    }

    /// Switches several edges in one request, in this order; returns which of them changed.
    async fn switch(&self, client: &Client, on: bool, ids: &[i64]) -> Vec<bool> {
        let (action, target) = (if on { self.on } else { self.off }, self.target);
        let one = |id| format!("m{id}: {action}(input: {{ {target}Id: \"{target}_{id}\" }}) {{ changed }}");
        let query = format!("mutation {{ {} }}", ids.iter().map(one).collect::<Vec<_>>().join(" "));
        let data = client.data(&query, json!({})).await;
        ids.iter().map(|id| data[format!("m{id}")]["changed"].as_bool().unwrap()).collect()
    }

    /// Bytes of the cached set and its floor.
    async fn memory(&self, stores: &Stores, me: i64) -> u64 {
        let mut bytes = 0;
        for part in ["e", "fl"] {
            let key = key(me % 2, format!("{part}:{}:{me}", self.name));
            let used: Option<u64> = redis::cmd("MEMORY")
                .arg("USAGE")
                .arg(key)
                .query_async(&mut stores.redis().await)
                .await
                .unwrap();
            bytes += used.unwrap_or(0);
        }
        bytes
    }

    async fn rows_on(&self, stores: &Stores, me: i64) -> i64 {
        let count = format!("SELECT count(*) FROM {} WHERE actor_id = $1 AND is_on", self.name);
        let count = sqlx::query_scalar(sqlx::AssertSqlSafe(count)).bind(me);
        count.fetch_one(&stores.sql().await).await.unwrap()
    }
}

/// Ids that need eight bytes.
const FIRST_ID: i64 = 5_000_000_000;
/// Ids of existing targets, and of those that the user switched on, which are neither the first nor the last ones.
const ALL: Range<i64> = FIRST_ID..FIRST_ID + 102_310;
const ON: Range<i64> = FIRST_ID + 10..FIRST_ID + 100_010;
const MOST_BYTES: u64 = 64_000;
/// Edges that one request switches on, as many as a document of 2,000 tokens may: few enough for the time that a request has, also on a busy machine.
const AT_ONCE: usize = 20;

#[tokio::test(flavor = "multi_thread")]
async fn likes_of_every_age_are_exact_for_a_user_with_100000_likes_in_bounded_memory() {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let pipeline = Server::start_on(&stores, &["--roles", "pipeline"]);
    let api = Server::start_on(&stores, &["--roles", "api", "--reply-wait", "0s", "--max-tokens", "2000"]);
    let (client, me) =
        (api.client("eve likes it all"), user_with_100000_likes(&stores, "eve likes it all").await);
    // The newest ones, those around the floor of a cached set, and the oldest ones.
    let on =
        [ON.end - 1, ON.end - 2, ON.end - 5_001, ON.end - 5_000, ON.start + 50_000, ON.start + 1, ON.start];
    let off = [ALL.start, ON.start - 1, ON.end, ALL.end - 1];

    // Nothing is persisted meanwhile.
    pipeline.stall();
    for kind in &KINDS {
        for (was_on, ids) in [(true, &on[..]), (false, &off[..])] {
            for id in ids {
                let edge = format!("{} {id}", kind.name);
                assert_eq!(kind.is_on(&client, *id).await, was_on, "{edge}");
                for to in [was_on, !was_on, !was_on, was_on, was_on, !was_on] {
                    let changed = kind.is_on(&client, *id).await != to;
                    assert_eq!(kind.switch(&client, to, &[*id]).await, [changed], "{edge} to {to}");
                    assert_eq!(kind.is_on(&client, *id).await, to, "{edge} to {to}");
                }
            }
        }
        assert_eq!(kind.rows_on(&stores, me).await, 100_000, "the pipeline is not stalled");
    }

    pipeline.wake();
    stores.rest().await;
    for kind in &KINDS {
        assert_eq!(kind.rows_on(&stores, me).await, 100_000 - on.len() as i64 + off.len() as i64);
        for (is_on, ids) in [(false, &on[..]), (true, &off[..])] {
            for id in ids {
                assert_eq!(kind.is_on(&client, *id).await, is_on, "{} {id}", kind.name);
                assert_eq!(kind.switch(&client, is_on, &[*id]).await, [false], "{} {id}", kind.name);
                assert_eq!(kind.switch(&client, !is_on, &[*id]).await, [true], "{} {id}", kind.name);
            }
        }
        let bytes = kind.memory(&stores, me).await;
        assert!((30_000..MOST_BYTES).contains(&bytes), "{}: {bytes}", kind.name);
    }

    // The cached set stays bounded after any number of edges is switched on.
    let more: Vec<i64> = (ON.end + 1..ALL.end - 1).collect();
    for kind in &KINDS {
        let mut most = 0;
        for some in more.chunks(AT_ONCE) {
            assert!(kind.switch(&client, true, some).await.iter().all(|changed| *changed), "{}", kind.name);
            most = most.max(kind.memory(&stores, me).await);
        }
        assert!((45_000..MOST_BYTES).contains(&most), "{}: {most}", kind.name);
    }
    stores.rest().await;
    for kind in &KINDS {
        for id in [ON.start, ON.start + 50_000, more[0], more[more.len() - 1]] {
            assert!(kind.is_on(&client, id).await, "{} {id}", kind.name);
            assert_eq!(kind.switch(&client, true, &[id]).await, [false], "{} {id}", kind.name);
        }
        let bytes = kind.memory(&stores, me).await;
        assert!((30_000..MOST_BYTES).contains(&bytes), "{}: {bytes}", kind.name);
    }
}

/// Creates a user with many old rows, none of them cached.
async fn user_with_100000_likes(stores: &Stores, subject: &str) -> i64 {
    let sql = stores.sql().await;
    let author = stores.new_user().await;
    let insert = "INSERT INTO app_user (subject, name) VALUES ($1, 'Eve') RETURNING id";
    let me: i64 = sqlx::query_scalar(insert).bind(subject).fetch_one(&sql).await.unwrap();
    let ids = |ids: Range<i64>| format!("generate_series({}, {}) AS id", ids.start, ids.end - 1);
    let (all, on) = (ids(ALL), ids(ON));
    let mut script = format!(
        "INSERT INTO note (id, author_id, title, body) OVERRIDING SYSTEM VALUE
             SELECT id, {author}, 'Old', 'Old' FROM {all};
         INSERT INTO comment_index (id, note_id, author_id, state) OVERRIDING SYSTEM VALUE
             SELECT id, {FIRST_ID}, {author}, 'approved' FROM {all};
         INSERT INTO comment_body SELECT id, 'Old' FROM {all};
         SELECT setval('note_id_seq', {2}), setval('comment_index_id_seq', {2});
         UPDATE note_counts SET likes = 1, collects = 1 WHERE id >= {0} AND id < {1};
         UPDATE comment_counts SET likes = 1 WHERE id >= {0} AND id < {1};",
        ON.start, ON.end, ALL.end,
    );
    for kind in &KINDS {
        let name = kind.name;
        script.push_str(&format!("INSERT INTO {name} SELECT {me}, id, true, true, now(), now() FROM {on};"));
    }
    sqlx::raw_sql(sqlx::AssertSqlSafe(script)).execute(&sql).await.unwrap();
    me
}

#[tokio::test]
async fn a_user_without_likes_costs_one_database_lookup_and_not_one_per_request() {
    let server = Server::shared();
    let stores = server.stores();
    let notes = [note(stores.new_note().await), note(stores.new_note().await)];
    for n in &notes {
        server.client("fred warms the notes").note(n).await;
    }
    let (someone, nobody) = (server.client("gil has no likes"), server.client("hal has no account"));
    someone.follow(&user(stores.new_user().await)).await;

    let query = "query ($n: ID!) { note(id: $n) { viewerHasLiked viewerHasCollected } }";
    let no = json!({ "note": { "viewerHasLiked": false, "viewerHasCollected": false } });
    // A user costs one statement per kind of edge, an unknown subject one for the account.
    for (client, first) in [(someone, 2), (nobody, 1)] {
        for (n, statements) in [(&notes[0], first), (&notes[0], 0), (&notes[1], 0)] {
            let reply = client.send(query, json!({ "n": n })).await;
            assert_eq!((&reply.body["data"], reply.sql_statements), (&no, statements), "{reply:?}");
        }
    }
}

#[tokio::test]
async fn a_request_for_an_unknown_id_costs_one_look_at_what_was_given() {
    let server = Server::shared();
    let client = server.client("ida reads unknown ids");
    client.follow(&user(server.stores().new_user().await)).await;
    let like = |kind: &Kind| format!("{}(input: {{ {}Id: $id }}) {{ changed }}", kind.on, kind.target);
    let mutations = [
        ("note_7000000000001", like(&KINDS[0])),
        ("note_7000000000002", like(&KINDS[1])),
        ("comment_7000000000003", like(&KINDS[2])),
        ("user_7000000000004", "follow(input: { userId: $id }) { changed }".to_owned()),
        ("group_7000000000005", "joinGroup(input: { groupId: $id }) { changed }".to_owned()),
    ];
    for (id, mutation) in mutations {
        let read = "query ($id: ID!) { node(id: $id) { id } }".to_owned();
        let switch = format!("mutation ($id: ID!) {{ {mutation} }}");
        // An older look would not show what was created since.
        for query in [&read, &read, &switch, &switch] {
            let reply = client.send(query, json!({ "id": id })).await;
            let refused = reply.body["errors"][0]["extensions"]["code"] == "NOT_FOUND";
            assert!(refused || reply.body["data"]["node"] == Value::Null, "{id}: {reply:?}");
            assert_eq!((reply.sql_statements, reply.redis_round_trips), (1, 0), "{id}: {query} {reply:?}");
        }
    }
}
