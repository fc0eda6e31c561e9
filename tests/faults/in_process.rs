//! Schedules of faults with two nodes in this process, which end or stall at fail points.

use std::{any::Any, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use chrono::Utc;
use futures_util::FutureExt;
use parking_lot::RwLock;
use plaudit_catalogue::{
    EdgeKind, Entity, EntityKind,
    primitives::{CommentId, EventCursor, GroupId, Id, NoteId, ShardCount, UserId, fault::Point},
};
use plaudit_domain::{
    Amount, AppKey, Badge, CommentText, DomainError, DomainResult, GRANT_REASON, GROUP_DESCRIPTION,
    GROUP_NAME, GroupModerator, IdempotencyKey, Judged, NOTE_BODY, NewNote, NewReport, NoteUpsert,
    NoteViewer, Plaudit, RecordedViews, ReportReason, ReviewDecision, Score, SuspensionEnd, Switched,
    Switching, Text, TextEdit,
    content::{app_keys, comments, edits, groups, notes, ratings, upserts, views},
    edges::{collects, follows, joins, likes, membership},
    event_stream,
    moderation::{self, decisions, reports},
    people::{coins, erasure, inbox, suspension, visibility},
};
use plaudit_embedded_stores::AppendFsync;
use plaudit_store::sql::{
    Db,
    connection::migration,
    ownership::installation,
    stream::{events, retention, webhooks},
};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{
    check,
    consumer::{Consumer, Events, Page},
    done::{Done, FIRST_WORDS},
    hook::Hook,
    load::{Answer, Load, Progress, Service},
    node::{Node, has_fired, killed, values},
    observations::Observations,
    plan::{Plan, StoreFault, points_of_nodes},
    recorder::Recorded,
    seeds, store_faults, stream_check,
    world::{Act, Acted, World, edited_body, upserted_key},
};
use support::{Stores, key};

const NAMES: [&str; 2] = ["node-a", "node-b"];
const SHARDS: u16 = 3;
/// Steps of each user.
const STEPS: usize = 14;
/// Timeout of an action. After it, the outcome of the action is unknown.
const ACT_WITHIN: Duration = Duration::from_secs(5);

#[test]
fn forty_schedules_of_faults_in_one_process_lose_nothing_and_count_nothing_twice() {
    run_all(seeds(1, 40), |_| {});
}

#[test]
fn a_node_that_ends_at_any_point_loses_nothing_and_counts_nothing_twice() {
    let _alone = fail::FailScenario::setup();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let wrong: Vec<String> = runtime.block_on(async {
        let bench = Bench::new().await;
        let mut wrong = Vec::new();
        for (seed, point) in points_of_nodes().iter().enumerate() {
            // A log is trimmed only after it has grown for a while.
            let mut is_reached = false;
            for attempt in 0..20 {
                // Not every schedule hides a user.
                let seed = (attempt * Point::ALL.len() + seed) as u64;
                wrong.extend(bench.run(seed, |_| Plan::of_point(*point)).await);
                is_reached = has_fired(*point);
                if is_reached {
                    break;
                }
            }
            if !is_reached {
                wrong.push(format!("no node reached {}", point.name()));
            }
        }
        wrong
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Runs these schedules in sequence on the same stores. Panics at the end if any has failed.
pub fn run_all(seeds: Vec<u64>, mut progress: impl FnMut(usize)) {
    let _alone = fail::FailScenario::setup();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let failures = runtime.block_on(async {
        let bench = Bench::new().await;
        let mut failures = Vec::new();
        for (i, seed) in seeds.into_iter().enumerate() {
            let plan = |steps| Plan::new(seed, &mut StdRng::seed_from_u64(seed), steps);
            failures.extend(bench.run(seed, plan).await);
            progress(i + 1);
        }
        failures
    });
    assert!(failures.is_empty(), "{} failed:\n{}", failures.len(), failures.join("\n\n"));
}

/// Stores that schedules run on.
pub struct Bench {
    pub stores: Stores,
    pub shards: ShardCount,
    db: Db,
    hook: Hook,
}

impl Bench {
    pub async fn new() -> Self {
        let stores = Stores::start(AppendFsync::EverySec).await;
        let db = Db::for_pipeline(stores.database_url(), 2).unwrap().with_events(true);
        migration::migrate(&db).await.unwrap();
        let shards = installation::installation(&db, ShardCount::new(SHARDS).unwrap()).await.unwrap().shards;
        retention::set_stream(&db, true).await.unwrap();
        // The webhook begins here, and not when the first node has started it.
        webhooks::webhook_position(&db).await.unwrap();
        Self { stores, shards, db, hook: Hook::start().await }
    }

    fn node(&self, name: &str, plan: Option<&Plan>) -> Node {
        Node::start(name, &self.stores, (self.shards, self.hook.url()), plan)
    }

    /// Runs a plan; `plan` gets the total number of steps. Returns the differences, with what is needed to reproduce
    /// them.
    async fn run(&self, seed: u64, plan: impl FnOnce(usize) -> Plan) -> Option<String> {
        let world = World::new(&self.stores.sql().await).await;
        let plan = plan(STEPS * world.people.len());
        let schedule = Schedule::new(self, &world, &plan, seed);
        let running = AssertUnwindSafe(schedule.run()).catch_unwind();
        let wrong = running.await.unwrap_or_else(|panic| vec![message_of(&*panic)]);
        if wrong.is_empty() {
            return None;
        }
        let state = check::state(&self.stores, self.shards).await;
        Some(format!("SEED={seed}: {plan}\n  {}\n{state}", wrong.join("\n  ")))
    }
}

/// Message of a panic.
pub fn message_of(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<String>().cloned();
    message
        .or_else(|| Some((*panic.downcast_ref::<&str>()?).to_owned()))
        .unwrap_or_else(|| "no message".to_owned())
}

/// A running schedule.
pub struct Schedule<'a> {
    bench: &'a Bench,
    world: &'a World,
    plan: &'a Plan,
    seed: u64,
    nodes: Arc<[RwLock<Node>; 2]>,
    observations: Arc<Observations>,
    pub progress: Progress,
}

impl<'a> Schedule<'a> {
    pub fn new(bench: &'a Bench, world: &'a World, plan: &'a Plan, seed: u64) -> Self {
        let start = |name: &str| RwLock::new(bench.node(name, Some(plan)));
        Self {
            bench,
            world,
            plan,
            seed,
            nodes: Arc::new(NAMES.map(start)),
            observations: Arc::default(),
            progress: Progress::default(),
        }
    }

    /// Runs the usual load. Returns the differences from what it has done, also in the stream of events, and what its
    /// history has against the promises.
    async fn run(&self) -> Vec<String> {
        let (stores, world, lossless) = (&self.bench.stores, self.world, self.plan.is_lossless());
        self.bench.hook.begin();
        let mut consumer = Consumer::new(events::newest_event(&self.bench.db).await.unwrap());
        let users = Recorded { service: self, recorder: &self.observations.recorder };
        let load = Load { seed: self.seed, steps: STEPS };
        let load = load.run(world, &users, &self.progress);
        let (done, _watcher) = self.play(load, consumer.run(self, self.seed)).await;
        let mut wrong = self.differences(&done).await;
        let received = (&mut consumer, self, &self.bench.hook);
        wrong.extend(stream_check::differences(stores, world, &done, received, lossless).await);
        wrong.extend(check::violations(stores, world, &self.observations).await);
        self.stop();
        wrong
    }

    /// Runs a load beside the faults. Returns the differences from what it has done.
    pub async fn run_with(&self, load: impl Future<Output = Done>) -> Vec<String> {
        let (done, _watcher) = self.play(load, std::future::pending()).await;
        let wrong = self.differences(&done).await;
        self.stop();
        wrong
    }

    /// Runs a load beside the faults and `beside`, which never ends; then all nodes run. Returns what the load has done,
    /// and a node that was never killed: its counts must be correct in the end.
    async fn play(&self, load: impl Future<Output = Done>, beside: impl Future<Output = ()>) -> (Done, Node) {
        let watcher = self.bench.node("watcher", None);
        watcher.watch("watcher", self.world.entities(), Arc::clone(&self.observations));
        for trap in &self.plan.traps {
            fail::cfg(trap.point.name(), &trap.actions()).unwrap();
        }
        let restarters = NAMES.iter().enumerate().map(|(node, name)| self.restart_after_kills(node, name));
        let done = tokio::select! {
            done = load => done,
            _ = futures_util::future::join_all(restarters) => unreachable!("restarts never end"),
            () = self.inject_faults() => unreachable!("faults never end"),
            () = beside => unreachable!("it never ends"),
        };
        for point in Point::ALL {
            fail::remove(point.name());
        }
        // The node that was killed last is started again, because the other one may be down too.
        for (node, name) in NAMES.iter().enumerate() {
            self.restart(node, name);
        }
        (done, watcher)
    }

    async fn differences(&self, done: &Done) -> Vec<String> {
        let lossless = self.plan.is_lossless();
        check::differences(&self.bench.stores, self.world, done, &self.observations, lossless).await
    }

    fn stop(&self) {
        for node in self.nodes.iter() {
            node.write().kill();
        }
    }

    /// Restarts a node after each kill, with a delay. Never returns.
    async fn restart_after_kills(&self, node: usize, name: &str) {
        let mut kills = killed(name);
        let mut rng = StdRng::seed_from_u64(self.seed + node as u64);
        while kills.recv().await.is_some() {
            self.nodes[node].write().kill();
            tokio::time::sleep(Duration::from_millis(rng.random_range(0..700))).await;
            self.restart(node, name);
        }
    }

    fn restart(&self, node: usize, name: &str) {
        let started = self.bench.node(name, Some(self.plan));
        *self.nodes[node].write() = started;
    }

    /// Causes each fault of the plan at its time. Never returns.
    async fn inject_faults(&self) {
        for (step, fault) in &self.plan.faults {
            while self.progress.steps() < *step {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            self.inject(*fault).await;
        }
        std::future::pending().await
    }

    async fn inject(&self, fault: StoreFault) {
        if fault.loses() {
            self.observations.recorder.loses();
        }
        let stores = &self.bench.stores;
        match fault {
            StoreFault::KillNode(node) => {
                self.nodes[node].write().kill();
                self.restart(node, NAMES[node]);
            }
            StoreFault::StopNode(node) => {
                let spare = self.bench.node("spare", None);
                let mut stopped = std::mem::replace(&mut *self.nodes[node].write(), spare);
                stopped.stop().await;
                self.restart(node, NAMES[node]);
            }
            StoreFault::FlushScripts => store_faults::in_redis(stores, &["SCRIPT", "FLUSH"]).await,
            StoreFault::CutRedis => {
                store_faults::in_redis(stores, &["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]).await;
                store_faults::in_redis(stores, &["CLIENT", "KILL", "TYPE", "pubsub"]).await;
            }
            StoreFault::CutPostgres => store_faults::cut_postgres(stores).await,
            StoreFault::Evict => store_faults::evict(stores).await,
            StoreFault::ForgetTarget => {
                let shard = self.seed % self.bench.shards.get() as u64;
                store_faults::in_redis(stores, &["DEL", &key(shard, "meta")]).await;
            }
            StoreFault::FlushAll => store_faults::in_redis(stores, &["FLUSHALL"]).await,
            StoreFault::LoseLog => {
                let shard = self.seed % self.bench.shards.get() as u64;
                store_faults::lose_log(stores, self.bench.shards.get(), shard).await;
            }
        }
    }

    /// Runs a future on a random node.
    async fn on_any_node<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &self,
        work: impl FnOnce(Plaudit) -> F,
    ) -> Answer<T> {
        self.on_node(any_node(), work).await
    }

    async fn on_node<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
        &self,
        at: usize,
        work: impl FnOnce(Plaudit) -> F,
    ) -> Answer<T> {
        let running = {
            let node = self.nodes[at].read();
            node.spawn(work(node.plaudit.clone()))
        };
        let running = running.ok_or_else(|| format!("{} was killed", NAMES[at]))?;
        let ended = tokio::time::timeout(ACT_WITHIN, running).await;
        let ended = ended.map_err(|_| format!("no reply from {} within {ACT_WITHIN:?}", NAMES[at]))?;
        ended.map_err(|error| format!("{}: {error}", NAMES[at]))
    }
}

impl Service for Schedule<'_> {
    async fn act(&self, world: &World, actor: usize, act: Act, key: &str) -> Answer<Acted> {
        let me = world.people[actor].id;
        let mut moved = Vec::new();
        if let Act::Flip { kind, target, .. } = act {
            moved.extend(world.flip(kind, me, target.id).deltas().map(|(entity, ..)| entity));
        }
        let (parsed, wanted) = (IdempotencyKey::parse(key.to_owned()).unwrap(), moved.clone());
        let acting = move |plaudit: Plaudit| async move {
            let acted = perform(&plaudit, UserId(id(me)), act, &parsed).await?;
            Ok::<_, String>((acted, plaudit.hub().counts(&wanted).await.0))
        };
        let asked = self.observations.asks(any_node());
        let (acted, found) = self.on_node(asked.server, acting).await??;
        for (entity, counts) in moved.into_iter().zip(found) {
            let Some(counts) = counts else { continue };
            let seen = (entity, counts.version.get(), &values(entity, &counts.counts));
            self.observations.replied(seen, &asked, key, acted.changed);
        }
        Ok(acted)
    }

    async fn is_on(&self, world: &World, actor: usize, kind: EdgeKind, target: i64) -> Answer<bool> {
        let (actor, target) = (UserId(id(world.people[actor].id)), id(target));
        let states = self
            .on_any_node(move |plaudit| async move {
                membership::membership(&plaudit, actor, &[(kind, target)]).await
            })
            .await?;
        let states = states.map_err(|error| format!("{error:?}"))?;
        states.first().copied().ok_or_else(|| "the reply lacks the edge".to_owned())
    }

    async fn read(&self, world: &World) {
        let entities: Vec<Entity> = world.entities();
        let wanted = entities.clone();
        let read = move |plaudit: Plaudit| async move { plaudit.hub().counts(&wanted).await.0 };
        let asked = self.observations.asks(any_node());
        let found = self.on_node(asked.server, read).await.unwrap_or_default();
        for (entity, counts) in entities.into_iter().zip(found) {
            let Some(counts) = counts else { continue };
            self.observations.read((entity, counts.version.get(), &values(entity, &counts.counts)), &asked);
        }
    }
}

impl Events for Schedule<'_> {
    async fn page(&self, after: EventCursor, most: usize) -> Answer<Page> {
        let read = move |plaudit: Plaudit| async move {
            event_stream::events_after(&plaudit, Some(after), most).await
        };
        let page = self.on_any_node(read).await?.map_err(|error| {
            assert!(!matches!(error, DomainError::Cursor(_)), "{error:?}");
            format!("{error:?}")
        })?;
        let events = page.events.iter().map(|event| serde_json::to_value(event).unwrap()).collect();
        Ok(Page { events, end: page.end })
    }
}

async fn perform(plaudit: &Plaudit, actor: UserId, act: Act, key: &IdempotencyKey) -> Answer<Acted> {
    use plaudit_domain::DomainError::{CatchingUp, Overloaded, RetryLater, Suspended};
    let acted = match act {
        Act::Flip { kind, target, on } => {
            flip(plaudit, actor, kind, id(target.id), on, key).await.map(Acted::from)
        }
        act => change(plaudit, actor, act, key).await,
    };
    match acted {
        Ok(acted) => Ok(acted),
        Err(error @ (RetryLater(_) | Overloaded(_) | CatchingUp | Suspended { .. })) => {
            Err(format!("{error:?}"))
        }
        Err(error) => panic!("{act:?} was refused: {error:?}"),
    }
}

async fn flip(
    plaudit: &Plaudit,
    actor: UserId,
    kind: EdgeKind,
    target: Id,
    on: bool,
    key: &IdempotencyKey,
) -> DomainResult<bool> {
    let switching = Switching { actor: Some(actor.into()), on, key: Some(key), shows_counts: true };
    match kind {
        EdgeKind::NoteLike => changed(likes::set_note_like(plaudit, NoteId(target), switching).await),
        EdgeKind::NoteCollect => {
            changed(collects::set_note_collect(plaudit, NoteId(target), switching).await)
        }
        EdgeKind::CommentLike => {
            changed(likes::set_comment_like(plaudit, CommentId(target), switching).await)
        }
        EdgeKind::Follow => changed(follows::set_follow(plaudit, UserId(target), switching).await),
        EdgeKind::GroupJoin => changed(joins::set_membership(plaudit, GroupId(target), switching).await),
    }
}

/// Actions that PostgreSQL takes, and views.
async fn change(plaudit: &Plaudit, actor: UserId, act: Act, key: &IdempotencyKey) -> DomainResult<Acted> {
    let second_key = |of: &str| IdempotencyKey::parse(format!("{}-{of}", key.as_str()));
    let key = Some(key);
    let changed = match act {
        Act::Flip { .. } => unreachable!("flips go through the log"),
        Act::Grant { user, amount } => {
            let reason = Text::parse("A test", &GRANT_REASON)?;
            let amount = Amount::parse(amount)?;
            coins::grant_coins(plaudit, actor, UserId(id(user)), amount, reason, key).await?.changed
        }
        Act::Hide { user, hidden } => {
            visibility::set_hidden(plaudit, actor, UserId(id(user)), hidden, key).await?.changed
        }
        Act::Erase { user } => erasure::erase_user(plaudit, actor, UserId(id(user)), key).await?.changed,
        Act::Rate { note, score } => {
            let score = score.map(Score::parse).transpose()?;
            ratings::set_rating(plaudit, Some(actor), NoteId(id(note)), score, key).await?.1
        }
        Act::Comment { note } => {
            let text = CommentText::parse(FIRST_WORDS, Vec::new(), Vec::new())?;
            let (comment, changed) =
                comments::add_comment(plaudit, actor, NoteId(id(note)), None, None, &text, key).await?;
            approve(plaudit, actor, comment.id, &second_key("approve")?).await?;
            return Ok(Acted { changed, created: Some(comment.id.get()) });
        }
        Act::Uncomment { comment } => {
            comments::delete_comment(plaudit, actor, CommentId(id(comment)), false, key).await?.1.changed
        }
        Act::EditComment { comment, number } => {
            let comment = CommentId(id(comment));
            let edit = TextEdit::of_comment(Some(&edited_body(number)), None, None)?;
            let changed =
                edits::update_text(plaudit, actor, (Judged::Comment, comment.0), &edit, key).await?;
            approve(plaudit, actor, comment, &second_key("approve")?).await?;
            changed
        }
        Act::Edit { note, number } => {
            let edit = TextEdit::of_note(None, Some(Text::parse(&edited_body(number), &NOTE_BODY)?));
            edits::update_text(plaudit, actor, (Judged::Note, id(note)), &edit, key).await?
        }
        Act::Post => {
            let text = TextEdit::of_note(None, None);
            // The app's own id of it: a repetition must find the same note, never make a second one.
            let app_key = AppKey::parse("key", &format!("post of {actor:?} {key:?}"))?;
            let post = NewNote { key: Some(app_key.clone()), url: None, text, group: None };
            let (note, changed) = notes::create_note(plaudit, actor, post, key).await?;
            let named = app_keys::find_by_keys(plaudit, EntityKind::Note, &[app_key.as_str()]).await?;
            assert!(named == [None] || named == [Some(note.id.into())], "{app_key:?} names {named:?}");
            return Ok(Acted { changed, created: Some(note.id.get()) });
        }
        Act::Unpost { note } => {
            notes::delete_note(plaudit, actor, NoteId(id(note)), false, key).await?.1.changed
        }
        Act::Found => {
            let (name, about) = (Text::parse("A group", &GROUP_NAME)?, Text::parse("", &GROUP_DESCRIPTION)?);
            let (group, changed) = groups::create_group(plaudit, actor, None, name, about, key).await?;
            let second_key = second_key("join")?;
            let switching = Switching {
                actor: Some(actor.into()),
                on: true,
                key: Some(&second_key),
                shows_counts: false,
            };
            joins::set_membership(plaudit, group.id, switching).await?;
            return Ok(Acted { changed, created: Some(group.id.get()) });
        }
        Act::Disband { group } => {
            let by = GroupModerator { user: actor, is_moderator: false };
            moderation::groups::delete_group(plaudit, by, GroupId(id(group)), key).await?.changed
        }
        Act::View { note } => {
            views::record_views(
                plaudit,
                NoteViewer::User(actor),
                &[NoteId(id(note))],
                key,
                &RecordedViews::default(),
            )
            .await?;
            true
        }
        Act::Report { note } => {
            let report = NewReport { reason: ReportReason::Spam, text: None };
            reports::report(plaudit, actor, (Judged::Note, id(note)), &report, key).await?
        }
        Act::Upsert { number } => {
            let note = |number| {
                let text = TextEdit::of_note(None, Some(Text::parse(&edited_body(number), &NOTE_BODY)?));
                let key = AppKey::parse("key", &upserted_key(actor.get(), number))?;
                Ok(NoteUpsert { key, author: actor, group: None, url: None, text, created_at: None })
            };
            let notes = [number, number + 1].map(note).into_iter().collect::<DomainResult<Vec<_>>>()?;
            for result in upserts::notes::upsert_notes(plaudit, &notes).await? {
                result?;
            }
            true
        }
        Act::ReadInbox => inbox::mark_inbox_read(plaudit, actor, &Badge::ALL, None, key).await?.changed,
        Act::Suspend { user, until } => {
            let (user, until) = (UserId(id(user)), SuspensionEnd::parse(until, Utc::now())?);
            let (_, changed) = suspension::suspend_user(plaudit, actor, user, until, None, key).await?;
            suspension::unsuspend_user(plaudit, actor, user, Some(&second_key("lift")?)).await?;
            changed
        }
    };
    Ok(changed.into())
}

/// Decides as a moderator does who sees the text.
async fn approve(
    plaudit: &Plaudit,
    by: UserId,
    comment: CommentId,
    key: &IdempotencyKey,
) -> DomainResult<bool> {
    let about = (Judged::Comment, comment.0);
    decisions::decide(plaudit, by, about, ReviewDecision::Approve, None, Some(key)).await
}

fn changed<T, E>(result: Result<(T, Switched), E>) -> Result<bool, E> {
    result.map(|(_, switched)| switched.changed)
}

/// The index of a random node.
fn any_node() -> usize {
    rand::random_range(0..NAMES.len())
}

fn id(raw: i64) -> Id {
    Id::try_from(raw).unwrap()
}
