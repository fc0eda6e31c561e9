//! Everything at once, in any order: at rest, totals are what a plain model says, and what the rows say.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
};

use futures_util::future::join_all;
use plaudit_token_auth::Role;
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Value, json};

use crate::support::{Client, SOON, Server, Stores, eventually, number};

const STORMS: usize = 4;
const USERS: usize = 8;
const NOTES: usize = 6;
const GROUPS: usize = 2;
const COMMENTS: usize = 4;
const STEPS: usize = 60;

/// A pair of mutations, its argument, and the kind of target.
const EDGES: [(&str, &str, &str, &str); 5] = [
    ("likeNote", "unlikeNote", "noteId", "note"),
    ("collectNote", "uncollectNote", "noteId", "note"),
    ("likeComment", "unlikeComment", "commentId", "comment"),
    ("follow", "unfollow", "userId", "user"),
    ("joinGroup", "leaveGroup", "groupId", "group"),
];

/// What one user has done, as the replies say.
#[derive(Default)]
struct Done {
    /// Last state of each edge: kind of edge and target.
    edges: BTreeMap<(usize, String), bool>,
    /// Notes that are left: id and group.
    notes: BTreeMap<String, Option<String>>,
    removed: BTreeSet<String>,
    views: BTreeMap<String, i64>,
    /// Comments that are left: id to note and the comment above.
    comments: BTreeMap<String, (String, Option<String>)>,
    ratings: BTreeMap<String, i64>,
}

/// The things that a storm is about.
struct World {
    users: Vec<(Client, String)>,
    groups: Vec<String>,
    /// With their authors.
    comments: Vec<String>,
    /// Notes that are there from the beginning: id, author, group.
    notes: Vec<(String, usize, Option<String>)>,
}

impl World {
    async fn new(server: &Server, storm: usize) -> Self {
        let stores = server.stores();
        let mut users = Vec::new();
        let anybody = stores.new_user().await;
        for i in 0..USERS {
            let client = server.client(&format!("storm {storm} user {i}"));
            client.act("follow", json!({ "userId": format!("user_{anybody}") }), "changed").await;
            let unfollow = json!({ "userId": format!("user_{anybody}") });
            let id = client.act("unfollow", unfollow, "viewer { id }").await["viewer"]["id"].clone();
            users.push((client, id.as_str().unwrap().to_owned()));
        }
        let mut groups = Vec::new();
        for (creator, _) in &users[..GROUPS] {
            let created = creator.act("createGroup", json!({ "name": "Storm" }), "group { id }").await;
            groups.push(created["group"]["id"].as_str().unwrap().to_owned());
        }
        let mut notes = Vec::new();
        for i in 0..NOTES {
            // Those who created a group may post in it.
            let (author, group) = (i % USERS, groups.get(i).cloned());
            let id = post(&users[author].0, group.as_ref()).await;
            notes.push((id, author, group));
        }
        let mut comments = Vec::new();
        for i in 0..COMMENTS {
            let (author, note) = (&users[i].1, &notes[i].0);
            let id = stores.new_comment_by(number(&json!(author)), number(&json!(note))).await;
            comments.push(format!("comment_{id}"));
        }
        Self { users, groups, comments, notes }
    }

    fn targets(&self, kind: &str, actor: usize) -> Vec<String> {
        match kind {
            "note" => self.notes.iter().map(|(id, ..)| id.clone()).collect(),
            "comment" => self.comments.clone(),
            "group" => self.groups.clone(),
            _ => {
                self.users.iter().map(|(_, id)| id.clone()).filter(|id| *id != self.users[actor].1).collect()
            }
        }
    }

    /// One user's steps, one after the other.
    async fn act(&self, actor: usize, mut rng: StdRng) -> Done {
        let (client, mut done) = (&self.users[actor].0, Done::default());
        for (id, _, group) in self.notes.iter().filter(|(_, author, _)| *author == actor) {
            done.notes.insert(id.clone(), group.clone());
        }
        for _ in 0..STEPS {
            match rng.random_range(0..100) {
                0..65 => self.flip(client, actor, &mut rng, &mut done).await,
                65..72 => self.view(client, &mut rng, &mut done).await,
                72..80 => self.comment(client, &mut rng, &mut done).await,
                80..84 => remove_comment(client, &mut rng, &mut done).await,
                84..90 => self.rate(client, &mut rng, &mut done).await,
                90..95 => {
                    let group = (actor < GROUPS).then(|| self.groups[actor].clone());
                    done.notes.insert(post(client, group.as_ref()).await, group);
                }
                _ => remove_one(client, &mut rng, &mut done).await,
            }
        }
        done
    }

    async fn flip(&self, client: &Client, actor: usize, rng: &mut StdRng, done: &mut Done) {
        let kind = rng.random_range(0..EDGES.len());
        let (turn_on, turn_off, argument, of) = EDGES[kind];
        let target = self.targets(of, actor).choose(rng).unwrap().clone();
        let on = rng.random_bool(0.6);
        let mutation = if on { turn_on } else { turn_off };
        let input = json!({ "input": { argument: target } });
        let type_name = format!("{}{}Input", mutation[..1].to_uppercase(), &mutation[1..]);
        let query = format!("mutation ($input: {type_name}!) {{ {mutation}(input: $input) {{ changed }} }}");
        let reply = client.send(&query, input).await.body;
        match reply["data"][mutation]["changed"].as_bool() {
            Some(changed) => {
                let before = done.edges.insert((kind, target), on).unwrap_or(false);
                assert_eq!(changed, before != on, "{mutation}: {reply}");
            }
            None => assert_eq!(reply["errors"][0]["extensions"]["code"], "NOT_FOUND", "{reply}"),
        }
    }

    /// On a note, or below one of the storm's first comments.
    async fn comment(&self, client: &Client, rng: &mut StdRng, done: &mut Done) {
        let at = rng.random_range(0..NOTES);
        let note = self.notes[at].0.clone();
        let parent = self.comments.get(at).filter(|_| rng.random_bool(0.5)).cloned();
        let input = json!({ "input": { "noteId": note, "parentId": parent, "body": "In a storm" } });
        let query = "mutation ($input: AddCommentInput!) { addComment(input: $input) { comment { id } } }";
        let reply = client.send(query, input).await.body;
        match reply["data"]["addComment"]["comment"]["id"].as_str() {
            Some(id) => {
                done.comments.insert(id.to_owned(), (note, parent));
            }
            None => assert_eq!(reply["errors"][0]["extensions"]["code"], "NOT_FOUND", "{reply}"),
        }
    }

    async fn rate(&self, client: &Client, rng: &mut StdRng, done: &mut Done) {
        let note = &self.notes.choose(rng).unwrap().0;
        let score = rng.random_range(0..=10);
        let input = json!({ "input": { "noteId": note, "score": score } });
        let query = "mutation ($input: RateNoteInput!) { rateNote(input: $input) { changed } }";
        let reply = client.send(query, input).await.body;
        match reply["data"]["rateNote"]["changed"].as_bool() {
            Some(changed) => {
                let before = done.ratings.insert(note.clone(), score);
                assert_eq!(changed, before != Some(score), "{reply}");
            }
            None => assert_eq!(reply["errors"][0]["extensions"]["code"], "NOT_FOUND", "{reply}"),
        }
    }

    async fn view(&self, client: &Client, rng: &mut StdRng, done: &mut Done) {
        let ids: Vec<&String> = (0..3).map(|_| &self.notes.choose(rng).unwrap().0).collect();
        let viewed = client.act("recordViews", json!({ "noteIds": ids }), "notes { id }").await;
        let viewed: BTreeSet<&str> =
            viewed["notes"].as_array().unwrap().iter().map(|note| note["id"].as_str().unwrap()).collect();
        for id in ids.into_iter().filter(|id| viewed.contains(id.as_str())) {
            *done.views.entry(id.clone()).or_default() += 1;
        }
    }
}

async fn post(client: &Client, group: Option<&String>) -> String {
    let input = json!({ "title": "In a storm", "body": "Text", "groupId": group });
    client.act("createNote", input, "note { id }").await["note"]["id"].as_str().unwrap().to_owned()
}

async fn remove_one(client: &Client, rng: &mut StdRng, done: &mut Done) {
    let mine: Vec<String> = done.notes.keys().cloned().collect();
    let Some(id) = mine.choose(rng) else { return };
    let removed = client.act("deleteNote", json!({ "noteId": id }), "changed").await;
    assert_eq!(removed["changed"], true);
    done.notes.remove(id);
    done.removed.insert(id.clone());
}

async fn remove_comment(client: &Client, rng: &mut StdRng, done: &mut Done) {
    let mine: Vec<String> = done.comments.keys().cloned().collect();
    let Some(id) = mine.choose(rng) else { return };
    // False when its note was removed, and it with it.
    client.act("deleteComment", json!({ "commentId": id }), "changed").await;
    done.comments.remove(id);
}

/// Hides and restores users at random; returns who is hidden in the end.
async fn moderate(moderator: &Client, world: &World, mut rng: StdRng) -> BTreeSet<String> {
    let mut hidden = BTreeSet::new();
    for _ in 0..12 {
        let user = world.users.choose(&mut rng).unwrap().1.clone();
        let hide = rng.random_bool(0.5);
        let mutation = if hide { "hideUser" } else { "restoreUser" };
        let changed = moderator.act(mutation, json!({ "userId": user }), "changed").await["changed"].clone();
        assert_eq!(changed, hidden.contains(&user) != hide);
        if hide {
            hidden.insert(user);
        } else {
            hidden.remove(&user);
        }
    }
    hidden
}

/// Coins of each user, as the replies say.
async fn grant(service: &Client, world: &World, mut rng: StdRng) -> BTreeMap<String, i64> {
    let mut coins = BTreeMap::new();
    for _ in 0..20 {
        let user = world.users.choose(&mut rng).unwrap().1.clone();
        let amount = rng.random_range(1..50) * if rng.random_bool(0.3) { -1 } else { 1 };
        let balance = coins.entry(user.clone()).or_insert(0);
        let input = json!({ "userId": user, "amount": amount, "reason": "A storm" });
        if *balance + amount < 0 {
            assert_eq!(service.refused("grantCoins", input).await.1.as_deref(), Some("amount"));
        } else {
            service.act("grantCoins", input, "changed").await;
            *balance += amount;
        }
    }
    coins
}

/// Numbers per object and field.
type Numbers = BTreeMap<(String, &'static str), i64>;

/// What the counts must be.
fn expected(
    world: &World,
    done: &[Done],
    hidden: &BTreeSet<String>,
    coins: &BTreeMap<String, i64>,
) -> Numbers {
    let mut numbers = Numbers::new();
    let removed: BTreeSet<&String> = done.iter().flat_map(|done| &done.removed).collect();
    let present: Vec<_> = world.notes.iter().filter(|(id, ..)| !removed.contains(id)).collect();
    for (_, id) in &world.users {
        for field in [
            "followerCount",
            "followingCount",
            "noteCount",
            "commentCount",
            "likesReceivedCount",
            "collectsReceivedCount",
            "groupCount",
        ] {
            numbers.insert((id.clone(), field), 0);
        }
        numbers.insert((id.clone(), "coinCount"), coins.get(id).copied().unwrap_or(0));
    }
    for (id, ..) in &present {
        for field in ["likeCount", "collectCount"] {
            numbers.insert((id.clone(), field), 0);
        }
        let views = done.iter().filter_map(|done| done.views.get(id)).sum();
        numbers.insert((id.clone(), "viewCount"), views);
        let ratings = done.iter().filter(|done| done.ratings.contains_key(id));
        numbers.insert((id.clone(), "ratingCount"), ratings.count() as i64);
        let first = world.notes.iter().position(|(other, ..)| other == id).filter(|i| *i < COMMENTS);
        numbers.insert((id.clone(), "commentCount"), i64::from(first.is_some()));
    }
    for id in &world.groups {
        numbers.insert((id.clone(), "memberCount"), 0);
        let notes =
            done.iter().flat_map(|done| done.notes.values()).filter(|group| group.as_ref() == Some(id));
        numbers.insert((id.clone(), "noteCount"), notes.count() as i64);
    }
    let comment_is_there = |i: usize| !removed.contains(&world.notes[i].0);
    for (i, id) in world.comments.iter().enumerate().filter(|(i, _)| comment_is_there(*i)) {
        numbers.insert((id.clone(), "likeCount"), 0);
        numbers.insert((id.clone(), "replyCount"), 0);
        *numbers.get_mut(&(world.users[i].1.clone(), "commentCount")).unwrap() += 1;
    }
    for (actor, done) in done.iter().enumerate() {
        let me = &world.users[actor].1;
        *numbers.get_mut(&(me.clone(), "noteCount")).unwrap() += done.notes.len() as i64;
        for (note, parent) in done.comments.values().filter(|(note, _)| !removed.contains(note)) {
            for (id, field) in [(me, "commentCount"), (note, "commentCount")] {
                *numbers.get_mut(&(id.clone(), field)).unwrap() += 1;
            }
            if let Some(parent) = parent {
                *numbers.get_mut(&(parent.clone(), "replyCount")).unwrap() += 1;
            }
        }
        let counted = done.edges.iter().filter(|(_, on)| **on && !hidden.contains(me));
        for ((kind, target), _) in counted {
            let author = |notes: &[(String, usize, Option<String>)]| {
                let (_, author, _) = notes.iter().find(|(id, ..)| id == target).unwrap();
                world.users[*author].1.clone()
            };
            let moved = match kind {
                0 => vec![(target.clone(), "likeCount"), (author(&world.notes), "likesReceivedCount")],
                1 => vec![(target.clone(), "collectCount"), (author(&world.notes), "collectsReceivedCount")],
                2 => vec![(target.clone(), "likeCount")],
                3 => vec![(target.clone(), "followerCount"), (me.clone(), "followingCount")],
                _ => vec![(target.clone(), "memberCount"), (me.clone(), "groupCount")],
            };
            let of_removed = *kind < 2 && removed.contains(target);
            for key in moved.into_iter().filter(|_| !of_removed) {
                if let Some(number) = numbers.get_mut(&key) {
                    *number += 1;
                }
            }
        }
    }
    numbers
}

/// The same counts as clients see them.
async fn shown(client: &Client, expected: &Numbers) -> Numbers {
    let ids: BTreeSet<&String> = expected.keys().map(|(id, _)| id).collect();
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { id
        ... on User { followerCount followingCount noteCount commentCount likesReceivedCount
                      collectsReceivedCount groupCount coinCount }
        ... on Note { likeCount collectCount viewCount commentCount ratingCount }
        ... on Comment { likeCount replyCount }
        ... on Group { memberCount noteCount } } }";
    let nodes = client.data(query, json!({ "ids": ids })).await["nodes"].clone();
    let by_id: BTreeMap<&str, &Value> =
        nodes.as_array().unwrap().iter().filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let number = |(id, field): &(String, &'static str)| {
        let shown = by_id.get(id.as_str()).map_or(-1, |node| node[*field].as_i64().unwrap());
        ((id.clone(), *field), shown)
    };
    expected.keys().map(number).collect()
}

/// Totals and the rows that they count; every line that comes back is a difference. Removed entities keep
/// the totals that they had.
const TOTALS: [(&str, &str, &str); 19] = [
    ("user", "following", "SELECT actor_id AS id FROM follow WHERE included"),
    ("user", "followers", "SELECT target_id AS id FROM follow WHERE included"),
    ("user", "notes", "SELECT author_id AS id FROM note WHERE removed_at IS NULL AND title = 'In a storm'"),
    (
        "user",
        "comments",
        "SELECT author_id AS id FROM comment_index WHERE removed_at IS NULL AND state = 'approved'",
    ),
    (
        "note",
        "comments",
        "SELECT note_id AS id FROM comment_index WHERE removed_at IS NULL AND state = 'approved'",
    ),
    ("note", "ratings", "SELECT note_id AS id FROM note_rating"),
    ("note", "rating_sum", "SELECT note_id AS id FROM note_rating, generate_series(1, score)"),
    (
        "comment",
        "replies",
        "SELECT parent_id AS id FROM comment_index WHERE removed_at IS NULL AND state = 'approved'",
    ),
    (
        "user",
        "likes_received",
        "SELECT n.author_id AS id FROM note_like AS e JOIN note AS n ON n.id = e.target_id WHERE e.included AND n.removed_at IS NULL",
    ),
    (
        "user",
        "collects_received",
        "SELECT n.author_id AS id FROM note_collect AS e JOIN note AS n ON n.id = e.target_id WHERE e.included AND n.removed_at IS NULL",
    ),
    ("user", "groups", "SELECT actor_id AS id FROM group_join WHERE included"),
    ("note", "likes", "SELECT target_id AS id FROM note_like WHERE included"),
    ("note", "collects", "SELECT target_id AS id FROM note_collect WHERE included"),
    ("comment", "likes", "SELECT target_id AS id FROM comment_like WHERE included"),
    ("group", "members", "SELECT target_id AS id FROM group_join WHERE included"),
    ("group", "notes", "SELECT group_id AS id FROM note WHERE removed_at IS NULL AND group_id IS NOT NULL"),
    (
        "inbox",
        "likes",
        "SELECT recipient_id AS id FROM inbox_entry WHERE kind IN ('note_like', 'comment_like')",
    ),
    ("inbox", "new_followers", "SELECT recipient_id AS id FROM inbox_entry WHERE kind = 'follow'"),
    ("inbox", "direct_messages", "SELECT recipient_id AS id FROM inbox_entry WHERE kind = 'direct_message'"),
];

async fn differences(stores: &Stores) -> Vec<String> {
    let sql = stores.sql().await;
    let mut found = Vec::new();
    for (kind, column, rows) in TOTALS {
        let table = match kind {
            "user" | "inbox" => "app_user",
            "note" => "note",
            "comment" => "comment_index",
            _ => "app_group",
        };
        let query = format!(
            "SELECT c.id, c.{column}, count(r.id) FROM {kind}_counts AS c
             JOIN {table} AS t ON t.id = c.id AND t.removed_at IS NULL
             LEFT JOIN ({rows}) AS r ON r.id = c.id GROUP BY c.id, c.{column} HAVING c.{column} <> count(r.id)"
        );
        let differing: Vec<(i64, i64, i64)> =
            sqlx::query_as(sqlx::AssertSqlSafe(query)).fetch_all(&sql).await.unwrap();
        found.extend(
            differing.iter().map(|(id, total, rows)| format!("{kind}:{id} {column} is {total}, rows {rows}")),
        );
    }
    found
}

/// Runs of `plaudit reconcile --repair`, one after the other.
struct Reconciling {
    is_over: Arc<AtomicBool>,
    runs: JoinHandle<(u64, u64)>,
}

fn keep_reconciling(server: &Server) -> Reconciling {
    let is_over = Arc::new(AtomicBool::new(false));
    let (over, mut command) = (Arc::clone(&is_over), server.command());
    command.args(["reconcile", "--repair", "--format", "json"]);
    let runs = thread::spawn(move || {
        let (mut runs, mut checked) = (0, 0);
        while !over.load(Relaxed) {
            let output = command.output().unwrap();
            let told = String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{told} {}", String::from_utf8_lossy(&output.stderr));
            let sums: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
            (runs, checked) = (runs + 1, checked + sums["checked"].as_u64().unwrap());
        }
        (runs, checked)
    });
    Reconciling { is_over, runs }
}

impl Reconciling {
    /// How many runs there were, and how many entities they checked.
    fn end(self) -> (u64, u64) {
        self.is_over.store(true, Relaxed);
        self.runs.join().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_any_storm_of_all_actions_totals_are_what_a_plain_model_and_the_rows_say() {
    // Small batches: their borders fall everywhere.
    let flags = ["--batch-events", "7", "--batch-wait", "2ms", "--reconcile-sample", "500"];
    let server = Server::start(&flags);
    let stores = server.stores();
    let reconciling = keep_reconciling(&server);
    for storm in 0..STORMS {
        let seed: u64 = rand::random();
        println!("storm {storm} has the seed {seed}"); // shown when the test fails
        let rng = |part: usize| StdRng::seed_from_u64(seed.wrapping_add(part as u64));
        let world = World::new(&server, storm).await;
        let (moderator, service) =
            (server.client_as(Role::Moderator, "a moderator"), server.client_as(Role::Service, "a service"));
        let acting = join_all((0..USERS).map(|actor| world.act(actor, rng(actor))));
        let (done, hidden, coins) = tokio::join!(
            acting,
            moderate(&moderator, &world, rng(USERS)),
            grant(&service, &world, rng(USERS + 1)),
        );
        let expected = expected(&world, &done, &hidden, &coins);
        let client = server.anonymous();
        eventually("what is shown is what the model says", SOON, || async {
            stores.rest().await;
            (shown(&client, &expected).await == expected).then_some(())
        })
        .await;
        assert_eq!(differences(&stores).await, Vec::<String>::new(), "seed {seed}");
    }
    // Everything was recounted all the time, and nothing that was right was taken for wrong.
    let (runs, checked) = reconciling.end();
    println!("{runs} runs of reconcile checked {checked} entities");
    assert!(runs > 2 && checked > 100, "{runs} runs, {checked} entities");
    let repairs: Vec<(String, String, Option<i64>, Option<i64>)> =
        sqlx::query_as("SELECT entity, what || ' ' || counter, from_value, to_value FROM repair")
            .fetch_all(&stores.sql().await)
            .await
            .unwrap();
    assert_eq!(repairs, []);
}
