//! Simulated users: each acts, waits for the answer and pauses.

use std::{
    collections::HashSet,
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use rand::{RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use serde_json::json;
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{
    StormApi,
    targets::{NoteTarget, TargetNotes},
};

/// Pause between two actions of one user. A user acts at most 200 times in 30 s, so two storms in a minute
/// stay below the default limit of 600.
const PAUSE_MS: std::ops::Range<u64> = 150..450;

/// Concurrent actions; bounded so that visitors are served too.
const AT_ONCE: usize = 32;

/// Attempts to find something new before a user takes back an earlier action.
const LOOKS: usize = 3;

/// How often, in percent, a user views a note and does nothing more.
const ONLY_LOOKS: u32 = 12;

/// What is done to a note, its author or its comments, with its share in percent.
const DEEDS: [(Deed, u32); 4] =
    [(Deed::Like, 60), (Deed::Collect, 15), (Deed::LikeComment, 15), (Deed::Follow, 10)];

const VIEW: &str =
    "mutation ($id: ID!) { recordViews(input: { noteIds: [$id] }) { changed notes { id viewCount } } }";

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Deed {
    Like,
    Collect,
    LikeComment,
    Follow,
}

impl Deed {
    /// The mutations that do it and take it back.
    const fn documents(self) -> [&'static str; 2] {
        match self {
            Self::Like => [
                "mutation ($id: ID!) { likeNote(input: { noteId: $id }) { changed note { id likeCount countsVersion } } }",
                "mutation ($id: ID!) { unlikeNote(input: { noteId: $id }) { changed note { id likeCount countsVersion } } }",
            ],
            Self::Collect => [
                "mutation ($id: ID!) { collectNote(input: { noteId: $id }) { changed note { id collectCount countsVersion } } }",
                "mutation ($id: ID!) { uncollectNote(input: { noteId: $id }) { changed note { id collectCount countsVersion } } }",
            ],
            Self::LikeComment => [
                "mutation ($id: ID!) { likeComment(input: { commentId: $id }) { changed comment { id likeCount countsVersion } } }",
                "mutation ($id: ID!) { unlikeComment(input: { commentId: $id }) { changed comment { id likeCount countsVersion } } }",
            ],
            Self::Follow => [
                "mutation ($id: ID!) { follow(input: { userId: $id }) { changed user { id followerCount countsVersion } } }",
                "mutation ($id: ID!) { unfollow(input: { userId: $id }) { changed user { id followerCount countsVersion } } }",
            ],
        }
    }

    /// Id of its target; `None` if the note has no such target.
    fn target<'a>(self, note: &'a NoteTarget, rng: &mut StdRng) -> Option<&'a str> {
        match self {
            Self::Like | Self::Collect => Some(note.id()),
            Self::LikeComment => note.comment(rng),
            Self::Follow => note.author(),
        }
    }
}

/// Users who act. They stop when this is dropped.
pub struct Crowd {
    counts: Arc<ActionCounts>,
    users: JoinSet<()>,
}

#[derive(Default)]
struct ActionCounts {
    acted: AtomicU64,
    failed: AtomicU64,
}

/// State shared by all users.
struct Stage<A> {
    api: A,
    targets: TargetNotes,
    until: Instant,
    at_once: Semaphore,
    counts: Arc<ActionCounts>,
}

struct SimulatedUser<A: StormApi> {
    stage: Arc<Stage<A>>,
    caller: A::Caller,
    rng: StdRng,
    /// Actions of this user in this storm that were not undone.
    done: HashSet<(Deed, String)>,
}

enum UserAction {
    View(String),
    Do(Deed, String),
    TakeBack(Deed, String),
}

impl Crowd {
    /// Users `storm.001`, `storm.002` and so on act for `time`.
    pub fn begin<A: StormApi>(api: A, targets: TargetNotes, users: u16, time: Duration) -> Self {
        let counts = Arc::<ActionCounts>::default();
        let stage = Arc::new(Stage {
            api,
            targets,
            until: Instant::now() + time,
            at_once: Semaphore::new(AT_ONCE),
            counts: Arc::clone(&counts),
        });
        let users = (1..=users).filter_map(|number| SimulatedUser::new(&stage, number));
        Self { counts, users: users.map(SimulatedUser::act).collect() }
    }

    /// Actions that succeeded, and those that were refused or failed.
    pub fn counts(&self) -> (u64, u64) {
        (self.counts.acted.load(Relaxed), self.counts.failed.load(Relaxed))
    }

    /// Waits until all users have acted for the last time. Can be waited for again.
    pub async fn ended(&mut self) {
        while self.users.join_next().await.is_some() {}
    }
}

impl<A: StormApi> SimulatedUser<A> {
    fn new(stage: &Arc<Stage<A>>, number: u16) -> Option<Self> {
        // Each has its own address, from the range reserved for benchmarks (RFC 2544).
        let [high, low] = number.to_be_bytes();
        let address = Ipv4Addr::new(198, 18, high, low).into();
        let caller = stage.api.user(&format!("storm.{number:03}"), address)?;
        let (rng, done) = (StdRng::from_rng(&mut rand::rng()), HashSet::new());
        Some(Self { stage: Arc::clone(stage), caller, rng, done })
    }

    async fn act(mut self) {
        loop {
            // Before the first action too: users do not arrive all at once.
            let pause = Duration::from_millis(self.rng.random_range(PAUSE_MS));
            let next = Instant::now() + pause;
            if next >= self.stage.until {
                return;
            }
            sleep_until(next).await;
            let action = self.choose();
            self.take(action).await;
        }
    }

    /// Something new if it is found within a few attempts.
    fn choose(&mut self) -> UserAction {
        let stage = Arc::clone(&self.stage);
        let note = stage.targets.draw(&mut self.rng);
        let mut action = UserAction::View(note.id().to_owned());
        if self.rng.random_ratio(ONLY_LOOKS, 100) {
            return action;
        }
        for _ in 0..LOOKS {
            let note = stage.targets.draw(&mut self.rng);
            let Some((deed, target)) = self.deed(note) else { continue };
            if !self.done.contains(&(deed, target.clone())) {
                return UserAction::Do(deed, target);
            }
            action = UserAction::TakeBack(deed, target);
        }
        action
    }

    fn deed(&mut self, note: &NoteTarget) -> Option<(Deed, String)> {
        let (deed, _) = DEEDS.choose_weighted(&mut self.rng, |(_, often)| *often).ok()?;
        Some((*deed, deed.target(note, &mut self.rng)?.to_owned()))
    }

    async fn take(&mut self, action: UserAction) {
        let (document, target) = match &action {
            UserAction::View(note) => (VIEW, note),
            UserAction::Do(deed, target) => (deed.documents()[0], target),
            UserAction::TakeBack(deed, target) => (deed.documents()[1], target),
        };
        let Ok(_turn) = self.stage.at_once.acquire().await else { return };
        let answer = self.stage.api.execute(&self.caller, document, json!({ "id": target })).await;
        let counter = if answer.is_ok() { &self.stage.counts.acted } else { &self.stage.counts.failed };
        counter.fetch_add(1, Relaxed);
        match action {
            UserAction::Do(deed, target) if answer.is_ok() => _ = self.done.insert((deed, target)),
            UserAction::TakeBack(deed, target) if answer.is_ok() => _ = self.done.remove(&(deed, target)),
            _ => {}
        }
    }
}
