//! Simulated users: each one acts, waits for the response and pauses.

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

/// Limit of concurrent actions, so that visitors are served, too.
const MAX_CONCURRENT: usize = 32;

/// Attempts to find a new action before a user undoes an earlier one.
const ATTEMPTS: usize = 3;

/// Share of actions that only view a note, in percent.
const VIEW_PERCENT: u32 = 12;

/// Actions on a note, its author or its comments, each with its share in percent.
const TOGGLES: [(Toggle, u32); 4] =
    [(Toggle::Like, 60), (Toggle::Collect, 15), (Toggle::LikeComment, 15), (Toggle::Follow, 10)];

const VIEW: &str =
    "mutation ($id: ID!) { recordViews(input: { noteIds: [$id] }) { changed notes { id viewCount } } }";

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Toggle {
    Like,
    Collect,
    LikeComment,
    Follow,
}

impl Toggle {
    /// The mutations that switch it on and off.
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

    /// Id of the action's target; `None` if the note has no such target.
    fn target<'a>(self, note: &'a NoteTarget, rng: &mut StdRng) -> Option<&'a str> {
        match self {
            Self::Like | Self::Collect => Some(note.id()),
            Self::LikeComment => note.comment(rng),
            Self::Follow => note.author(),
        }
    }
}

/// The running simulated users. Dropping it stops them.
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
struct StormContext<A> {
    api: A,
    targets: TargetNotes,
    until: Instant,
    permits: Semaphore,
    counts: Arc<ActionCounts>,
}

struct SimulatedUser<A: StormApi> {
    context: Arc<StormContext<A>>,
    caller: A::Caller,
    rng: StdRng,
    /// Actions of this user in this storm that are still on.
    done: HashSet<(Toggle, String)>,
}

enum UserAction {
    View(String),
    Do(Toggle, String),
    Undo(Toggle, String),
}

impl Crowd {
    /// Users `storm.001`, `storm.002` and so on act for `time`.
    pub fn begin<A: StormApi>(api: A, targets: TargetNotes, users: u16, time: Duration) -> Self {
        let counts = Arc::<ActionCounts>::default();
        let context = Arc::new(StormContext {
            api,
            targets,
            until: Instant::now() + time,
            permits: Semaphore::new(MAX_CONCURRENT),
            counts: Arc::clone(&counts),
        });
        let users = (1..=users).filter_map(|number| SimulatedUser::new(&context, number));
        Self { counts, users: users.map(SimulatedUser::act).collect() }
    }

    /// Actions that succeeded, and those that were refused or failed.
    pub fn counts(&self) -> (u64, u64) {
        (self.counts.acted.load(Relaxed), self.counts.failed.load(Relaxed))
    }

    /// Waits until all users have finished. Cancel-safe.
    pub async fn finish(&mut self) {
        while self.users.join_next().await.is_some() {}
    }
}

impl<A: StormApi> SimulatedUser<A> {
    fn new(context: &Arc<StormContext<A>>, number: u16) -> Option<Self> {
        // Each user has an address of its own, from the range reserved for benchmarks (RFC 2544).
        let [high, low] = number.to_be_bytes();
        let address = Ipv4Addr::new(198, 18, high, low).into();
        let caller = context.api.user(&format!("storm.{number:03}"), address)?;
        let (rng, done) = (StdRng::from_rng(&mut rand::rng()), HashSet::new());
        Some(Self { context: Arc::clone(context), caller, rng, done })
    }

    async fn act(mut self) {
        loop {
            // Also before the first action, so that users do not start at the same moment.
            let pause = Duration::from_millis(self.rng.random_range(PAUSE_MS));
            let next = Instant::now() + pause;
            if next >= self.context.until {
                return;
            }
            sleep_until(next).await;
            let action = self.choose();
            self.execute(action).await;
        }
    }

    /// A new action if one is found within a few attempts; otherwise the undoing of an earlier one, or a view.
    fn choose(&mut self) -> UserAction {
        let context = Arc::clone(&self.context);
        let note = context.targets.draw(&mut self.rng);
        let mut action = UserAction::View(note.id().to_owned());
        if self.rng.random_ratio(VIEW_PERCENT, 100) {
            return action;
        }
        for _ in 0..ATTEMPTS {
            let note = context.targets.draw(&mut self.rng);
            let Some((toggle, target)) = self.choose_toggle(note) else { continue };
            if !self.done.contains(&(toggle, target.clone())) {
                return UserAction::Do(toggle, target);
            }
            action = UserAction::Undo(toggle, target);
        }
        action
    }

    fn choose_toggle(&mut self, note: &NoteTarget) -> Option<(Toggle, String)> {
        let (toggle, _) = TOGGLES.choose_weighted(&mut self.rng, |(_, share)| *share).ok()?;
        Some((*toggle, toggle.target(note, &mut self.rng)?.to_owned()))
    }

    async fn execute(&mut self, action: UserAction) {
        let (document, target) = match &action {
            UserAction::View(note) => (VIEW, note),
            UserAction::Do(toggle, target) => (toggle.documents()[0], target),
            UserAction::Undo(toggle, target) => (toggle.documents()[1], target),
        };
        let Ok(_permit) = self.context.permits.acquire().await else { return };
        let answer = self.context.api.execute(&self.caller, document, json!({ "id": target })).await;
        let counter = if answer.is_ok() { &self.context.counts.acted } else { &self.context.counts.failed };
        counter.fetch_add(1, Relaxed);
        match action {
            UserAction::Do(toggle, target) if answer.is_ok() => _ = self.done.insert((toggle, target)),
            UserAction::Undo(toggle, target) if answer.is_ok() => _ = self.done.remove(&(toggle, target)),
            _ => {}
        }
    }
}
