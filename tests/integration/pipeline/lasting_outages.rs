//! A PostgreSQL that is away for a day: what was asked for in the last day goes on. The periods of the caches are short
//! here.

use std::time::{Duration, Instant};

use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use redis::AsyncCommands;
use serde_json::{Value, json};
use support::{Client, SOON, Server, Stores, eventually, key, note, number};

/// A server with these periods, which serves requests only if `flags` say so.
fn with_periods(stores: &Stores, flags: &[&str], periods: &str) -> Server {
    let mut server = Server::start_on(stores, flags);
    server.kill();
    assert!(server.try_start(&[("FAILPOINTS", periods)]));
    server
}

const PAGE: &str = "query ($n: ID!) { note(id: $n) { title likeCount viewerHasLiked author { name } } }";
const FEED: &str = "{ feed(first: 5) { nodes { title author { name } likeCount } } }";
const HOT: &str = "{ hotNotes(first: 5) { nodes { title likeCount } } }";

/// Everything that edges lead to, by an id or by a key of each.
const ALL: &str = "query ($note: ID!, $comment: ID!, $user: ID!, $group: ID!) {
    note(id: $note) {
        id title author { name } likeCount viewerHasLiked collectCount viewerHasCollected }
    comment: node(id: $comment) {
        ... on Comment { id body author { name } note { id } likeCount viewerHasLiked } }
    user(id: $user) { id name followerCount viewerIsFollowing }
    group(id: $group) { id name owner { name } memberCount viewerIsMember }
    notesByKey(keys: [\"all/note\"]) { id title likeCount viewerHasLiked }
    userBySubject(subject: \"all: the app\") { id name followerCount viewerIsFollowing }
    viewer { user { followingCount groupCount } } }";

/// The two actions of an edge, and where they are seen.
struct Edge {
    on: &'static str,
    off: &'static str,
    argument: &'static str,
    /// What it leads to, as the payload names it, and the variables of [`ALL`].
    target: &'static str,
    count: &'static str,
    own_state: &'static str,
    table: &'static str,
    total: &'static str,
}

const EDGES: [Edge; 5] = [
    Edge {
        on: "likeNote",
        off: "unlikeNote",
        argument: "noteId",
        target: "note",
        count: "likeCount",
        own_state: "viewerHasLiked",
        table: "note_like",
        total: "SELECT likes FROM note_counts WHERE id = $1",
    },
    Edge {
        on: "collectNote",
        off: "uncollectNote",
        argument: "noteId",
        target: "note",
        count: "collectCount",
        own_state: "viewerHasCollected",
        table: "note_collect",
        total: "SELECT collects FROM note_counts WHERE id = $1",
    },
    Edge {
        on: "likeComment",
        off: "unlikeComment",
        argument: "commentId",
        target: "comment",
        count: "likeCount",
        own_state: "viewerHasLiked",
        table: "comment_like",
        total: "SELECT likes FROM comment_counts WHERE id = $1",
    },
    Edge {
        on: "follow",
        off: "unfollow",
        argument: "userId",
        target: "user",
        count: "followerCount",
        own_state: "viewerIsFollowing",
        table: "follow",
        total: "SELECT followers FROM user_counts WHERE id = $1",
    },
    Edge {
        on: "joinGroup",
        off: "leaveGroup",
        argument: "groupId",
        target: "group",
        count: "memberCount",
        own_state: "viewerIsMember",
        table: "group_join",
        total: "SELECT members FROM group_counts WHERE id = $1",
    },
];

impl Edge {
    /// Returns whether it has changed anything, the count, and own state. `names`: variables of [`ALL`].
    async fn switch(&self, client: &Client, names: &Value, on: bool) -> (bool, i64, bool) {
        let action = if on { self.on } else { self.off };
        let fields = format!("changed {} {{ {} {} }}", self.target, self.count, self.own_state);
        let payload = client.act(action, json!({ self.argument: names[self.target] }), &fields).await;
        let target = &payload[self.target];
        let (changed, own_state) = (payload["changed"].as_bool(), target[self.own_state].as_bool());
        (changed.unwrap(), target[self.count].as_i64().unwrap(), own_state.unwrap())
    }

    /// Of two users, `early` has it on. They change places, and each action is taken by id and by key.
    async fn changes_hands(&self, early: &Client, late: &Client, [by_id, by_key]: [&Value; 2]) {
        for names in [by_id, by_key] {
            assert_eq!(self.switch(late, names, true).await, (true, 2, true), "{}", self.on);
            assert_eq!(self.switch(late, names, true).await, (false, 2, true), "{}", self.on);
            assert_eq!(self.switch(late, names, false).await, (true, 1, false), "{}", self.off);
        }
        assert_eq!(self.switch(late, by_key, true).await, (true, 2, true), "{}", self.on);
        assert_eq!(self.switch(early, by_id, false).await, (true, 1, false), "{}", self.off);
    }

    /// Subjects of those who have it on, by the rows.
    async fn subjects(&self, stores: &Stores, target: i64) -> Vec<String> {
        let rows = format!(
            "SELECT subject FROM {} JOIN app_user ON id = actor_id WHERE target_id = $1 AND is_on",
            self.table
        );
        let rows = sqlx::query_scalar(sqlx::AssertSqlSafe(rows)).bind(target);
        rows.fetch_all(&stores.sql().await).await.unwrap()
    }
}

/// A note, a comment, a group and their author: the variables of [`ALL`] by id and by key.
async fn named_twice(server: &Server, stores: &Stores) -> [Value; 2] {
    let app = server.client_as(Role::Service, "all: the app");
    let input = json!({ "name": "Readers", "key": "all/group" });
    let group = app.act("createGroup", input, "group { id owner { id } }").await["group"].clone();
    let input = json!({ "title": "From the app", "body": "Text", "key": "all/note" });
    let note = app.act("createNote", input, "note { id }").await["note"]["id"].clone();
    let author = &group["owner"]["id"];
    let comment = stores.new_comment_by(number(author), number(&note)).await;
    let key = "UPDATE comment_index SET key = 'all/comment' WHERE id = $1";
    sqlx::query(key).bind(comment).execute(&stores.sql().await).await.unwrap();
    let comment = format!("comment_{comment}");
    let by_id = json!({ "note": note, "comment": comment, "user": author, "group": group["id"] });
    let by_key = json!({
        "note": "note:all/note",
        "comment": "comment:all/comment",
        "user": "user:all: the app",
        "group": "group:all/group",
    });
    [by_id, by_key]
}

/// What another process has read long ago, by entries that are fresh for a millisecond.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_asked_for_serves_likes_and_pages_without_postgresql_long_after_it_was_read() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let asked = with_periods(&stores, &["--lease", "2s"], "cache.fresh=return(1);cache.local=return(1)");
    let other = with_periods(&stores, &["--roles", "api"], "cache.fresh=return(1);cache.local=return(1)");
    let [by_id, by_key] = named_twice(&asked, &stores).await;
    stores.rest().await;
    let users = |server: &Server| ["ben has it on", "ann is late"].map(|user| server.client(user));
    let [ben, ann] = users(&asked);
    for edge in &EDGES {
        edge.switch(&ben, &by_key, true).await;
        edge.switch(&ann, &by_key, true).await;
        edge.switch(&ann, &by_key, false).await;
    }
    stores.rest().await;
    let (on, off) = (ben.data(ALL, by_id.clone()).await, ann.data(ALL, by_id.clone()).await);
    assert_eq!(ann.data(ALL, by_key.clone()).await, off);
    let feed = ann.data(FEED, json!({})).await;
    ann.data(HOT, json!({})).await;
    // Places of the feed and the ranking are those of the process; texts, counts and own edges are not.
    other.anonymous().data("{ feed(first: 5) { nodes { id } } }", json!({})).await;
    let ranked = eventually("a ranking has the note", SOON, || async {
        let page = other.anonymous().data(HOT, json!({})).await;
        (!page["hotNotes"]["nodes"].as_array().unwrap().is_empty()).then_some(page)
    })
    .await;

    stores.stop_postgres();
    let [ben, ann] = users(&other);
    for names in [&by_id, &by_key] {
        assert_eq!(ben.data(ALL, names.clone()).await, on);
        assert_eq!(ann.data(ALL, names.clone()).await, off);
    }
    assert_eq!(ann.data(FEED, json!({})).await, feed);
    assert_eq!(ann.data(HOT, json!({})).await, ranked);
    for edge in &EDGES {
        edge.changes_hands(&ben, &ann, [&by_id, &by_key]).await;
    }
    for names in [&by_id, &by_key] {
        assert_eq!(ann.data(ALL, names.clone()).await, on);
        assert_eq!(ben.data(ALL, names.clone()).await, off);
    }
    let comments = "query ($n: ID!) { note(id: $n) { comments { nodes { id } } } }";
    assert_eq!(ann.error(comments, json!({ "n": by_id["note"] })).await["extensions"]["code"], "RETRY_LATER");

    stores.start_postgres();
    stores.rest().await;
    for edge in &EDGES {
        let target = number(&by_id[edge.target]);
        assert_eq!(edge.subjects(&stores, target).await, ["ann is late"], "{}", edge.on);
        assert_eq!(stores.number(edge.total, target).await, 1, "{}", edge.on);
    }
    for server in [&asked, &other] {
        let [ben, ann] = users(server);
        assert_eq!(ann.data(ALL, by_id.clone()).await, on);
        assert_eq!(ben.data(ALL, by_id.clone()).await, off);
    }
}

/// What the process itself remembers is gone after a millisecond.
#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_acted_once_acts_again_without_postgresql() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let server = with_periods(&stores, &["--lease", "2s"], "cache.local=return(1)");
    let (id, ann) = (stores.new_note().await, server.client("ann acted once"));
    assert_eq!(ann.like(&note(id)).await["changed"], true);
    stores.rest().await;
    stores.stop_postgres();
    assert_eq!(ann.unlike(&note(id)).await["changed"], true);
    stores.start_postgres();
    stores.rest().await;
    assert_eq!(stores.likes(id).await.total, 0);
}

/// The newest edges are kept in Redis since they were last listed, and retirement writes what is switched after that.
#[tokio::test(flavor = "multi_thread")]
async fn the_newest_own_likes_and_collects_are_listed_without_postgresql() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let server = with_periods(&stores, &["--lease", "2s"], "");
    let ann = server.client("ann lists her likes");
    let mut notes = Vec::new();
    for _ in 0..6 {
        notes.push(note(stores.new_note().await));
    }
    let listed = async |first: usize| {
        let query = "query ($first: Int) { viewer {
            likedNotes(first: $first) { nodes { id } pageInfo { hasNextPage } }
            collectedNotes(first: $first) { nodes { id } } } }";
        let viewer = ann.data(query, json!({ "first": first })).await["viewer"].clone();
        let ids = |list: &str| -> Vec<String> {
            let nodes = viewer[list]["nodes"].as_array().unwrap();
            nodes.iter().map(|node| node["id"].as_str().unwrap().to_owned()).collect()
        };
        (ids("likedNotes"), ids("collectedNotes"), viewer["likedNotes"]["pageInfo"]["hasNextPage"].clone())
    };
    ann.like(&notes[0]).await;
    ann.act("collectNote", json!({ "noteId": notes[5] }), "changed").await;
    assert_eq!(listed(100).await.0, [notes[0].clone()]); // they are kept from now on
    ann.note(&notes[4]).await;
    for liked in &notes[1..4] {
        ann.like(liked).await;
    }
    ann.unlike(&notes[1]).await;
    stores.rest().await;
    eventually("the flips are retired", SOON, || async {
        let mut redis = stores.redis().await;
        let pending: Vec<String> = redis.keys("*:p:*").await.unwrap();
        pending.is_empty().then_some(())
    })
    .await;

    stores.stop_postgres();
    let newest = |places: &[usize]| places.iter().map(|place| notes[*place].clone()).collect::<Vec<_>>();
    assert_eq!(listed(100).await, (newest(&[3, 2, 0]), newest(&[5]), json!(false)));
    ann.like(&notes[4]).await;
    ann.unlike(&notes[2]).await;
    assert_eq!(listed(2).await, (newest(&[4, 3]), newest(&[5]), json!(true)));
    assert_eq!(listed(100).await.0, newest(&[4, 3, 0]));

    stores.start_postgres();
    stores.rest().await;
    assert_eq!(listed(100).await.0, newest(&[4, 3, 0]));
}

/// Entries and counters are kept for four seconds since they were asked for.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_for_stays_however_long_postgresql_is_away_and_the_rest_expires() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    let periods = "cache.fresh=return(1);cache.local=return(1);cache.kept=return(4000);\
                   counts.kept=return(4000);counts.renewed_every=return(20)";
    let server = with_periods(&stores, &["--lease", "2s"], periods);
    let (warm, cooling) = (stores.new_note().await, note(stores.new_note().await));
    let (n, ann) = (note(warm), server.client("ann keeps asking"));
    for id in [&n, &cooling] {
        ann.like(id).await;
        ann.unlike(id).await;
        ann.note(id).await; // loads the author's counts, too
    }
    stores.rest().await;

    stores.stop_postgres();
    let began = Instant::now();
    let mut likes = 0;
    while began.elapsed() < Duration::from_secs(12) {
        likes = 1 - likes;
        let payload = if likes == 1 { ann.like(&n).await } else { ann.unlike(&n).await };
        assert_eq!((&payload["changed"], &payload["note"]["likeCount"]), (&json!(true), &json!(likes)));
        assert_eq!(ann.note(&n).await["likeCount"], likes);
    }
    let like = "mutation ($n: ID!) { likeNote(input: { noteId: $n }) { changed } }";
    let refused = ann.error(like, json!({ "n": cooling })).await;
    assert_eq!(refused["extensions"]["code"], "RETRY_LATER");

    stores.start_postgres();
    stores.rest().await;
    let totals = stores.likes(warm).await;
    assert_eq!((totals.rows, totals.total, totals.redis), (likes, likes, Some(likes)));
}

/// With 8 MB each of the two shards may have 512 kB of texts.
#[tokio::test(flavor = "multi_thread")]
async fn texts_are_bounded_by_bytes_and_likes_need_none() {
    let mut stores = Stores::start(AppendFsync::EverySec).await;
    stores.command(&["CONFIG", "SET", "maxmemory", "8mb"]).await;
    let server = with_periods(&stores, &["--lease", "2s"], "cache.local=return(1)");
    let (ann, mut notes) = (server.client("ann reads a lot"), Vec::new());
    let sql = stores.sql().await;
    for _ in 0..150 {
        let id = stores.new_note().await;
        let long = "UPDATE note SET body = repeat('x', 15000) WHERE id = $1";
        sqlx::query(long).bind(id).execute(&sql).await.unwrap();
        notes.push(id);
    }
    for id in &notes {
        ann.data(PAGE, json!({ "n": note(*id) })).await;
    }
    let (mut redis, mut bytes, mut without) = (stores.redis().await, 0, None);
    for id in &notes {
        let length: usize = redis.strlen(key(id % 2, format!("et:note_{id}"))).await.unwrap();
        bytes += length;
        if length == 0 {
            without = Some(*id);
        }
    }
    assert!((900_000..=1_048_576).contains(&bytes), "{bytes}");
    // A removed note frees its bytes for another one.
    let counted = async |redis: &mut redis::aio::MultiplexedConnection, shard: i64| -> i64 {
        let slices: Vec<i64> = redis.hvals(key(shard, "text-bytes")).await.unwrap();
        slices.iter().sum()
    };
    let held = notes[0];
    let before = counted(&mut redis, held % 2).await;
    server
        .client_as(Role::Moderator, "moderator")
        .act("deleteNote", json!({ "noteId": note(held) }), "changed")
        .await;
    let after = counted(&mut redis, held % 2).await;
    assert!(before - after > 15_000, "{before} {after}");

    let n = note(without.unwrap());
    ann.like(&n).await;
    ann.unlike(&n).await;
    stores.rest().await;
    stores.stop_postgres();
    assert_eq!(ann.like(&n).await["note"]["likeCount"], 1);
    let title = ann.send(PAGE, json!({ "n": n })).await.body;
    assert_eq!(title["errors"][0]["extensions"]["code"], "RETRY_LATER");
}
