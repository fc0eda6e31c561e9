//! The simulated users of a storm: each acts, waits for the answer and pauses, as people do.

use std::{
    collections::HashSet,
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use chrono::Utc;
use rand::{RngExt, SeedableRng, rngs::StdRng, seq::IndexedRandom};
use serde_json::json;
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, sleep_until},
};

use super::{
    ask,
    targets::{Note, Targets},
};
use plaudit_token_auth::{Identity, Role, Subject};

use crate::graphql::{Caller, Engine, Viewer};

/// Between two actions of one user. So nobody acts more than 200 times in 30 s, and two storms in a minute
/// stay below the usual limit of 600.
const PAUSE_MS: std::ops::Range<u64> = 150..450;

/// Actions under way at the same time: visitors are to be served meanwhile.
const AT_ONCE: usize = 32;

/// How often one looks for something new before one takes back what one has done.
const LOOKS: usize = 3;

/// How often, in percent, one looks at a note and does nothing more.
const ONLY_LOOKS: u32 = 12;

/// What is done to a note or to what one finds with it, with how often.
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
    /// To do it, and to take it back.
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

    /// To what it is done, if there is such a thing.
    fn target<'a>(self, note: &'a Note, rng: &mut StdRng) -> Option<&'a str> {
        match self {
            Self::Like | Self::Collect => Some(note.id()),
            Self::LikeComment => note.comment(rng),
            Self::Follow => note.author(),
        }
    }
}

/// Users who act. They stop when this is dropped.
pub struct Crowd {
    stage: Arc<Stage>,
    users: JoinSet<()>,
}

/// What all of them share.
struct Stage {
    engine: Engine,
    targets: Targets,
    until: Instant,
    at_once: Semaphore,
    acted: AtomicU64,
    failed: AtomicU64,
}

struct User {
    stage: Arc<Stage>,
    caller: Caller,
    rng: StdRng,
    /// What this user has done in this storm and not taken back.
    done: HashSet<(Deed, String)>,
}

enum Action {
    View(String),
    Do(Deed, String),
    TakeBack(Deed, String),
}

impl Crowd {
    /// Users `storm.001`, `storm.002` and so on act for so long.
    pub fn begin(engine: Engine, targets: Targets, users: u16, time: Duration) -> Self {
        let stage = Arc::new(Stage {
            engine,
            targets,
            until: Instant::now() + time,
            at_once: Semaphore::new(AT_ONCE),
            acted: AtomicU64::new(0),
            failed: AtomicU64::new(0),
        });
        let users = (1..=users).filter_map(|number| User::new(&stage, number)).map(User::act).collect();
        Self { stage, users }
    }

    /// Actions that were taken, and those that were refused or failed.
    pub fn counts(&self) -> (u64, u64) {
        (self.stage.acted.load(Relaxed), self.stage.failed.load(Relaxed))
    }

    /// Waits until all have done their last. May be waited for again.
    pub async fn ended(&mut self) {
        while self.users.join_next().await.is_some() {}
    }
}

impl User {
    fn new(stage: &Arc<Stage>, number: u16) -> Option<Self> {
        let subject = format!("storm.{number:03}").parse::<Subject>().ok()?;
        let expires_at = Utc::now() + Duration::from_hours(1);
        let viewer = Viewer::signed_in(Identity { subject, role: Role::User, expires_at });
        // Each from elsewhere, as people come: of the addresses that are kept for benchmarks (RFC 2544).
        let [high, low] = number.to_be_bytes();
        let caller = Caller { viewer, address: Ipv4Addr::new(198, 18, high, low).into() };
        let (rng, done) = (StdRng::from_rng(&mut rand::rng()), HashSet::new());
        Some(Self { stage: Arc::clone(stage), caller, rng, done })
    }

    async fn act(mut self) {
        loop {
            // Before the first one too: they do not come all at once.
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

    /// Something new if it is easily found.
    fn choose(&mut self) -> Action {
        let stage = Arc::clone(&self.stage);
        let note = stage.targets.draw(&mut self.rng);
        let mut action = Action::View(note.id().to_owned());
        if self.rng.random_ratio(ONLY_LOOKS, 100) {
            return action;
        }
        for _ in 0..LOOKS {
            let note = stage.targets.draw(&mut self.rng);
            let Some((deed, target)) = self.deed(note) else { continue };
            if !self.done.contains(&(deed, target.clone())) {
                return Action::Do(deed, target);
            }
            action = Action::TakeBack(deed, target);
        }
        action
    }

    fn deed(&mut self, note: &Note) -> Option<(Deed, String)> {
        let (deed, _) = DEEDS.choose_weighted(&mut self.rng, |(_, often)| *often).ok()?;
        Some((*deed, deed.target(note, &mut self.rng)?.to_owned()))
    }

    async fn take(&mut self, action: Action) {
        let (document, target) = match &action {
            Action::View(note) => (VIEW, note),
            Action::Do(deed, target) => (deed.documents()[0], target),
            Action::TakeBack(deed, target) => (deed.documents()[1], target),
        };
        let Ok(_turn) = self.stage.at_once.acquire().await else { return };
        let answer = ask(&self.stage.engine, self.caller.clone(), document, json!({ "id": target })).await;
        let counter = if answer.is_ok() { &self.stage.acted } else { &self.stage.failed };
        counter.fetch_add(1, Relaxed);
        match action {
            Action::Do(deed, target) if answer.is_ok() => _ = self.done.insert((deed, target)),
            Action::TakeBack(deed, target) if answer.is_ok() => _ = self.done.remove(&(deed, target)),
            _ => {}
        }
    }
}
