//! Schedules of kills of real processes: two servers, a Redis and a PostgreSQL.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use parking_lot::RwLock;
use plaudit::{
    catalogue::{Counter, EdgeKind, Entity},
    primitives::EventCursor,
    store::sql::Db,
};
use plaudit_embedded_stores::AppendFsync;
use plaudit_token_auth::Role;
use rand::{SeedableRng, rngs::StdRng};
use serde_json::{Value, json};
use tokio::{sync::Mutex, task::JoinSet};

use crate::{
    check,
    consumer::{Consumer, Events, Page},
    done::FIRST_WORDS,
    hook::{Hook, SECRET},
    in_process::message_of,
    load::{Answer, Load, Progress, Service},
    observations::{Observations, Values},
    plan::{Kill, KillPlan},
    recorder::Recorded,
    seeds, stream_check,
    support::{Client, Server, Socket, Stores, token_as},
    world::{Act, Acted, World, edited_body},
};

/// Steps of each user.
const STEPS: usize = 14;
const FLAGS: [&str; 8] =
    ["--lease", "1s", "--reply-wait", "200ms", "--batch-wait", "5ms", "--batch-events", "20"];
const ACT_WITHIN: Duration = Duration::from_secs(5);
/// Lines of the servers' logs that are printed with a failure.
const LOG_LINES: usize = 60;
const SERVICE: &str = "the service of the schedules";
/// The query of the consumer of events, and its subscription.
const EVENTS: &str = "($after: String, $first: Int) { events(after: $after, first: $first) {
    nodes { cursor type actor { id } target { id } } pageInfo { endCursor } } }";
/// Pages that one subscription of the consumer reads at most, and how long it waits for each.
const PAGES: usize = 4;
const PAGE_WITHIN: Duration = Duration::from_millis(300);
/// The subject of the moderator who hides users.
const MODERATOR: &str = "the moderator of the schedules";

#[tokio::test(flavor = "multi_thread")]
async fn ten_schedules_of_real_kills_lose_nothing_and_count_nothing_twice() {
    run_all(seeds(1, 10), |_| {}).await;
}

/// Runs these schedules in sequence on the same servers. Panics at the end if any has failed.
pub async fn run_all(seeds: Vec<u64>, mut progress: impl FnMut(usize)) {
    let deployment = Arc::new(Deployment::new().await);
    let mut failures = Vec::new();
    for (i, seed) in seeds.into_iter().enumerate() {
        let running = AssertUnwindSafe(run(&deployment, seed)).catch_unwind();
        let failed = |panic: Box<dyn Any + Send>| Some(format!("SEED={seed}: {}", message_of(&*panic)));
        failures.extend(running.await.unwrap_or_else(failed));
        progress(i + 1);
    }
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n\n"));
}

/// Two servers on the same stores.
struct Deployment {
    /// Every acknowledged write is on disk.
    stores: Stores,
    servers: [Mutex<Server>; 2],
    /// The current addresses of the servers.
    urls: [RwLock<String>; 2],
    hook: Hook,
    db: Db,
}

impl Deployment {
    async fn new() -> Self {
        let stores = Stores::start(AppendFsync::Always).await;
        let hook = Hook::start().await;
        let mut flags = FLAGS.to_vec();
        flags.extend(["--webhook-url", hook.url(), "--webhook-secret", SECRET]);
        let first = Server::start_on(&stores, &flags);
        let second = Server::start_on(&stores, &flags);
        let db = Db::for_pipeline(stores.database_url(), 1).unwrap();
        db.webhook_position().await.unwrap();
        let urls = [RwLock::new(first.url.clone()), RwLock::new(second.url.clone())];
        Self { stores, servers: [Mutex::new(first), Mutex::new(second)], urls, hook, db }
    }

    /// Restarts a server, with `fail_points` as `FAILPOINTS`.
    async fn start(&self, server: usize, fail_points: &str) {
        let mut started = self.servers[server].lock().await;
        let is_up = tokio::task::block_in_place(|| started.try_start(&[("FAILPOINTS", fail_points)]));
        if is_up {
            *self.urls[server].write() = started.url.clone();
        }
    }

    fn url(&self, server: usize) -> String {
        self.urls[server].read().clone()
    }

    async fn inject(&self, kill: &Kill) {
        match kill {
            Kill::Server { server, next } => {
                self.servers[*server].lock().await.kill();
                self.start(*server, &next.as_ref().map_or_else(String::new, ToString::to_string)).await;
            }
            Kill::Stop(server) => {
                let mut stopping = self.servers[*server].lock().await;
                if !stopping.has_ended() {
                    tokio::task::block_in_place(|| stopping.stop());
                }
                drop(stopping);
                self.start(*server, "").await;
            }
            Kill::Stall(server, time) => {
                let mut stalled = self.servers[*server].lock().await;
                if !stalled.has_ended() {
                    stalled.stall();
                    tokio::time::sleep(*time).await;
                    stalled.wake();
                }
            }
            Kill::Redis => self.stores.kill_redis(),
            Kill::Postgres => self.stores.kill_postgres(),
        }
    }

    /// Restarts servers that a fail point has ended. Never returns.
    async fn restart_ended_servers(&self) {
        loop {
            for server in 0..2 {
                if self.servers[server].lock().await.has_ended() {
                    self.start(server, "").await;
                }
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Returns the differences, with what is needed to reproduce them.
async fn run(deployment: &Arc<Deployment>, seed: u64) -> Option<String> {
    let world = World::new(&deployment.stores.sql().await).await;
    let plan = KillPlan::new(&mut StdRng::seed_from_u64(seed), STEPS * world.people.len());
    let (observations, progress) = (Arc::new(Observations::default()), Progress::default());
    let mut watchers = JoinSet::new();
    for server in 0..2 {
        watchers.spawn(watch(
            Arc::clone(deployment),
            server,
            subscriptions(&world),
            Arc::clone(&observations),
        ));
    }
    let users = ApiUsers { deployment, observations: &observations };
    deployment.hook.begin();
    let mut consumer = Consumer::new(deployment.db.newest_event().await.unwrap());
    let recorded = Recorded { service: &users, recorder: &observations.recorder };
    let load = Load { seed, steps: STEPS };
    let faults = async {
        for (step, kill) in &plan.kills {
            while progress.steps() < *step {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            deployment.inject(kill).await;
        }
        std::future::pending::<()>().await;
    };
    let done = tokio::select! {
        done = load.run(&world, &recorded, &progress) => done,
        () = faults => unreachable!("it never ends"),
        () = consumer.run(&users, seed) => unreachable!("it never ends"),
        () = deployment.restart_ended_servers() => unreachable!("it never ends"),
    };
    for server in &deployment.servers {
        server.lock().await.wake();
    }
    let checked = async {
        deployment.stores.are_up().await;
        let mut wrong = check::differences(&deployment.stores, &world, &done, &observations, true).await;
        let received = (&mut consumer, &users, &deployment.hook);
        wrong.extend(stream_check::differences(&deployment.stores, &world, &done, received, true).await);
        wrong.extend(check::violations(&deployment.stores, &world, &observations).await);
        wrong
    };
    let wrong = tokio::select! {
        wrong = checked => wrong,
        () = deployment.restart_ended_servers() => unreachable!("it never ends"),
    };
    if wrong.is_empty() {
        return None;
    }
    let log = deployment.servers[0].lock().await.log();
    let log: Vec<&str> = log.lines().rev().take(LOG_LINES).collect();
    let log = log.into_iter().rev().collect::<Vec<_>>().join("\n");
    Some(format!("SEED={seed}: {:?}\n  {}\nboth servers' log:\n{log}", plan.kills, wrong.join("\n  ")))
}

/// The users as clients, each action on a random server.
struct ApiUsers<'a> {
    deployment: &'a Deployment,
    observations: &'a Observations,
}

impl ApiUsers<'_> {
    async fn send(&self, client: Client, query: &str, variables: Value) -> Answer<Value> {
        let outcome = tokio::time::timeout(ACT_WITHIN, client.try_send(query, variables)).await;
        let outcome = outcome.map_err(|_| format!("no reply within {ACT_WITHIN:?}"))?;
        let reply = outcome.map_err(|error| format!("{error:?}"))?;
        let errors = &reply.body["errors"];
        if reply.body["extensions"]["stale"] == true {
            return Err("read while Redis was away".to_owned());
        }
        if errors.is_null() {
            return Ok(reply.body["data"].clone());
        }
        assert_eq!(errors[0]["extensions"]["code"], "RETRY_LATER", "{query}: {}", reply.body);
        Err(errors[0].to_string())
    }

    async fn mutate(&self, world: &World, actor: usize, request: Request, key: &str) -> Answer<Acted> {
        let Request { by, mutation, mut input, field } = request;
        let (role, subject) = match by {
            By::Actor => (Role::User, world.people[actor].subject.as_str()),
            By::Service => (Role::Service, SERVICE),
            By::Moderator => (Role::Moderator, MODERATOR),
        };
        input["idempotencyKey"] = json!(key);
        let type_name = format!("{}{}Input", mutation[..1].to_uppercase(), &mutation[1..]);
        let query = format!("mutation ($input: {type_name}!) {{ {mutation}(input: $input) {{ {field} }} }}");
        let client = Client::of(&self.url(), role, subject);
        let payload = self.send(client, &query, json!({ "input": input })).await?[mutation].clone();
        let created = ["note", "comment", "group"].iter().find_map(|object| payload[object]["id"].as_str());
        let created = created.and_then(|id| id.split_once('_')?.1.parse().ok());
        // Without the field, it always changes something.
        Ok(Acted { changed: payload["changed"].as_bool().unwrap_or(true), created })
    }

    fn url(&self) -> String {
        self.deployment.url(rand::random_range(0..2))
    }
}

impl Service for ApiUsers<'_> {
    async fn act(&self, world: &World, actor: usize, act: Act, key: &str) -> Answer<Acted> {
        let acted = self.mutate(world, actor, request(act), key).await?;
        if let Some(second) = second_request(act, acted) {
            self.mutate(world, actor, second, &format!("{key}-second")).await?;
        }
        Ok(acted)
    }

    async fn is_on(&self, world: &World, actor: usize, kind: EdgeKind, target: i64) -> Answer<bool> {
        let (.., target_kind, field) = edge_names(kind);
        let type_name = format!("{}{}", target_kind[..1].to_uppercase(), &target_kind[1..]);
        let query = format!("query ($id: ID!) {{ node(id: $id) {{ ... on {type_name} {{ {field} }} }} }}");
        let client = Client::of(&self.url(), Role::User, &world.people[actor].subject);
        as_bool(
            &self.send(client, &query, json!({ "id": format!("{target_kind}_{target}") })).await?["node"]
                [field],
        )
    }

    async fn read(&self, world: &World) {
        let ids: Vec<String> = WATCHED_TYPES.iter().flat_map(|watched| watched.ids(world)).collect();
        let parts: Vec<String> =
            WATCHED_TYPES.iter().map(|watched| format!("... on {}", watched.selection())).collect();
        let query = format!("query ($ids: [ID!]!) {{ nodes(ids: $ids) {{ {} }} }}", parts.join(" "));
        let client = Client::new(&self.url(), None);
        let Ok(data) = self.send(client, &query, json!({ "ids": ids })).await else { return };
        for object in data["nodes"].as_array().unwrap() {
            if let Some((entity, version, values)) = counts(object) {
                self.observations.read(entity, version, &values);
            }
        }
    }
}

impl Events for ApiUsers<'_> {
    /// By the query, or by a subscription that ends after some pages.
    async fn page(&self, after: EventCursor, most: usize) -> Answer<Page> {
        let variables = json!({ "after": after.to_string(), "first": most });
        let pages = if rand::random_bool(0.5) {
            let client = Client::of(&self.url(), Role::Service, SERVICE);
            vec![self.send(client, &format!("query {EVENTS}"), variables).await?["events"].take()]
        } else {
            self.pushed(variables).await
        };
        let end = pages.last().map(|page| page["pageInfo"]["endCursor"].as_str().unwrap().parse().unwrap());
        let nodes = pages.iter().flat_map(|page| page["nodes"].as_array().unwrap().clone());
        Ok(Page { events: nodes.collect(), end: end.ok_or("nothing was pushed")? })
    }
}

impl ApiUsers<'_> {
    /// The pages that a subscription pushes, until it is silent or its server is killed.
    async fn pushed(&self, variables: Value) -> Vec<Value> {
        let mut pages = Vec::new();
        let reading = async {
            let token = token_as(Role::Service, SERVICE);
            let mut socket = Socket::try_open(&self.url(), Some(token)).await?;
            let payload = json!({ "query": format!("subscription {EVENTS}"), "variables": variables });
            socket.try_send(json!({ "type": "subscribe", "id": "events", "payload": payload })).await?;
            while pages.len() < PAGES {
                let message = tokio::time::timeout(PAGE_WITHIN, socket.try_receive()).await.ok()??;
                let Some(page) = message["payload"]["data"].get("events").filter(|page| !page.is_null())
                else {
                    let codes = message["payload"].to_string();
                    assert!(codes.contains("RETRY_LATER") || message["type"] == "complete", "{message}");
                    return None;
                };
                pages.push(page.clone());
            }
            Some(())
        };
        let _ = tokio::time::timeout(ACT_WITHIN, reading).await;
        pages
    }
}

/// Who sends a mutation.
enum By {
    Actor,
    Service,
    Moderator,
}

/// A mutation, and the field of its payload that says what it has done.
struct Request {
    by: By,
    mutation: &'static str,
    input: Value,
    field: &'static str,
}

fn request(act: Act) -> Request {
    let by_actor = |mutation, input, field| Request { by: By::Actor, mutation, input, field };
    let by_moderator = |mutation, input| Request { by: By::Moderator, mutation, input, field: "changed" };
    let user = |id: i64| json!({ "userId": format!("user_{id}") });
    let note = |id: i64| json!({ "noteId": format!("note_{id}") });
    match act {
        Act::Flip { kind, target, on } => {
            let (turn_on, turn_off, argument, target_kind, _) = edge_names(kind);
            let input = json!({ argument: format!("{target_kind}_{}", target.id) });
            by_actor(if on { turn_on } else { turn_off }, input, "changed")
        }
        Act::Grant { user: id, amount } => {
            let input = json!({ "userId": format!("user_{id}"), "amount": amount, "reason": "A test" });
            Request { by: By::Service, mutation: "grantCoins", input, field: "__typename" }
        }
        Act::Hide { user: id, hidden } => {
            by_moderator(if hidden { "hideUser" } else { "restoreUser" }, user(id))
        }
        Act::Erase { user: id } => by_moderator("eraseUser", user(id)),
        Act::Rate { note: id, score: Some(score) } => {
            by_actor("rateNote", json!({ "noteId": format!("note_{id}"), "score": score }), "changed")
        }
        Act::Rate { note: id, score: None } => by_actor("unrateNote", note(id), "changed"),
        Act::Comment { note: id } => {
            let input = json!({ "noteId": format!("note_{id}"), "body": FIRST_WORDS });
            by_actor("addComment", input, "comment { id }")
        }
        Act::Uncomment { comment } => {
            by_actor("deleteComment", json!({ "commentId": format!("comment_{comment}") }), "changed")
        }
        Act::EditComment { comment, number } => {
            let input = json!({ "commentId": format!("comment_{comment}"), "body": edited_body(number) });
            by_actor("updateComment", input, "changed")
        }
        Act::Edit { note: id, number } => {
            let input = json!({ "noteId": format!("note_{id}"), "body": edited_body(number) });
            by_actor("updateNote", input, "changed")
        }
        Act::Post => by_actor("createNote", json!({ "title": "A post", "body": "Text" }), "note { id }"),
        Act::Unpost { note: id } => by_actor("deleteNote", note(id), "changed"),
        Act::Found => by_actor("createGroup", json!({ "name": "A group" }), "group { id }"),
        Act::Disband { group } => {
            by_actor("deleteGroup", json!({ "groupId": format!("group_{group}") }), "changed")
        }
        Act::View { note: id } => {
            by_actor("recordViews", json!({ "noteIds": [format!("note_{id}")] }), "__typename")
        }
    }
}

/// What completes an action: the approval of a text, or the membership in a new group.
fn second_request(act: Act, acted: Acted) -> Option<Request> {
    let (by, mutation, input) = match act {
        Act::Comment { .. } | Act::EditComment { .. } => {
            let comment = if let Act::EditComment { comment, .. } = act { comment } else { acted.created? };
            (By::Moderator, "approveComment", json!({ "commentId": format!("comment_{comment}") }))
        }
        Act::Found => (By::Actor, "joinGroup", json!({ "groupId": format!("group_{}", acted.created?) })),
        _ => return None,
    };
    Some(Request { by, mutation, input, field: "changed" })
}

fn as_bool(value: &Value) -> Answer<bool> {
    value.as_bool().ok_or_else(|| format!("{value} is not a boolean"))
}

/// Mutations that switch the edge on and off, their argument, the prefix of target ids, and the viewer's field.
const fn edge_names(
    kind: EdgeKind,
) -> (&'static str, &'static str, &'static str, &'static str, &'static str) {
    match kind {
        EdgeKind::NoteLike => ("likeNote", "unlikeNote", "noteId", "note", "viewerHasLiked"),
        EdgeKind::NoteCollect => ("collectNote", "uncollectNote", "noteId", "note", "viewerHasCollected"),
        EdgeKind::CommentLike => ("likeComment", "unlikeComment", "commentId", "comment", "viewerHasLiked"),
        EdgeKind::Follow => ("follow", "unfollow", "userId", "user", "viewerIsFollowing"),
        EdgeKind::GroupJoin => ("joinGroup", "leaveGroup", "groupId", "group", "viewerIsMember"),
    }
}

/// The watched counts of one type.
struct WatchedType {
    type_name: &'static str,
    subscription: &'static str,
    argument: &'static str,
    ids: fn(&World) -> Vec<i64>,
    fields: &'static [(&'static str, Counter)],
}

const WATCHED_TYPES: [WatchedType; 4] = [
    WatchedType {
        type_name: "Note",
        subscription: "noteCountsChanged",
        argument: "noteIds",
        ids: |world| world.notes.iter().map(|note| note.id).collect(),
        fields: &[("likeCount", Counter::NoteLikes), ("collectCount", Counter::NoteCollects)],
    },
    WatchedType {
        type_name: "User",
        subscription: "userCountsChanged",
        argument: "userIds",
        // A subscription that names a user who was erased would be refused.
        ids: |world| {
            world.people.iter().map(|person| person.id).filter(|id| *id != world.leaving()).collect()
        },
        fields: &[
            ("followerCount", Counter::UserFollowers),
            ("followingCount", Counter::UserFollowing),
            ("likesReceivedCount", Counter::UserLikesReceived),
            ("collectsReceivedCount", Counter::UserCollectsReceived),
            ("groupCount", Counter::UserGroups),
            ("coinCount", Counter::UserCoins),
        ],
    },
    WatchedType {
        type_name: "Comment",
        subscription: "commentCountsChanged",
        argument: "commentIds",
        ids: |world| world.comments.iter().map(|comment| comment.id).collect(),
        fields: &[("likes: likeCount", Counter::CommentLikes)],
    },
    WatchedType {
        type_name: "Group",
        subscription: "groupCountsChanged",
        argument: "groupIds",
        ids: |world| world.groups.iter().map(|group| group.id).collect(),
        fields: &[("memberCount", Counter::GroupMembers)],
    },
];

impl WatchedType {
    fn ids(&self, world: &World) -> Vec<String> {
        let prefix = self.type_name.to_lowercase();
        (self.ids)(world).iter().map(|id| format!("{prefix}_{id}")).collect()
    }

    fn selection(&self) -> String {
        let fields: Vec<&str> = self.fields.iter().map(|(field, _)| *field).collect();
        format!("{} {{ __typename id countsVersion {} }}", self.type_name, fields.join(" "))
    }
}

/// Subscriptions to all counts: query and variables.
fn subscriptions(world: &World) -> Vec<(String, Value)> {
    let subscription = |watched: &WatchedType| {
        let (name, argument) = (watched.subscription, watched.argument);
        let fields = watched.selection();
        let fields = fields.trim_start_matches(watched.type_name);
        let query = format!("subscription ($ids: [ID!]!) {{ {name}({argument}: $ids) {fields} }}");
        (query, json!({ "ids": watched.ids(world) }))
    };
    WATCHED_TYPES.iter().map(subscription).collect()
}

/// Subscribes at one server, resubscribes after each end, and records all events. Never returns.
async fn watch(
    deployment: Arc<Deployment>,
    server: usize,
    subscriptions: Vec<(String, Value)>,
    observations: Arc<Observations>,
) {
    let name = ["first server", "second server"][server];
    loop {
        if let Some(mut socket) = Socket::try_open(&deployment.url(server), None).await {
            for (i, (query, variables)) in subscriptions.iter().enumerate() {
                socket.subscribe(&i.to_string(), query, variables.clone()).await;
            }
            while let Some(message) = socket.try_receive().await {
                if message["type"] != "next" {
                    break; // RETRY_LATER, in an outage
                }
                let Some(data) = message["payload"]["data"].as_object() else { continue };
                for (entity, version, values) in data.values().filter_map(counts) {
                    observations.pushed(name, entity, version, values);
                }
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Parses an object with counts.
fn counts(object: &Value) -> Option<(Entity, u64, Values)> {
    let watched = WATCHED_TYPES.iter().find(|watched| object["__typename"] == watched.type_name)?;
    let entity: Entity = object["id"].as_str()?.parse().ok()?;
    let value = |(field, counter): &(&str, Counter)| {
        let field = field.split(':').next()?;
        Some((*counter, object[field].as_i64()?))
    };
    Some((entity, object["countsVersion"].as_u64()?, watched.fields.iter().filter_map(value).collect()))
}
