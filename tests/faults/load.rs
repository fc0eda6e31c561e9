//! Load: all users act concurrently. Each user takes steps in sequence, and repeats a step with the same idempotency
//! key until it is acknowledged.

use std::{
    sync::atomic::{AtomicUsize, Ordering::SeqCst},
    time::{Duration, Instant},
};

use futures_util::future::join_all;
use plaudit_catalogue::EdgeKind;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::{
    done::Done,
    world::{Act, Acted, World},
};

/// Timeout of a step, longer than any outage of a schedule.
const STEP_TIMEOUT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(15);

/// A reply, or the reason why there is none. A refusal that can be retried counts as none.
pub type Answer<T> = Result<T, String>;

/// The service under test.
pub trait Service: Sync {
    /// Returns what the action has done.
    fn act(&self, world: &World, actor: usize, act: Act, key: &str) -> impl Future<Output = Answer<Acted>>;

    /// Whether the edge is on, read by its actor.
    fn is_on(
        &self,
        world: &World,
        actor: usize,
        kind: EdgeKind,
        target: i64,
    ) -> impl Future<Output = Answer<bool>>;

    /// Reads all counts, for [`crate::observations::Observations`].
    fn read(&self, world: &World) -> impl Future<Output = ()>;
}

/// Number of steps that all users have finished.
#[derive(Default)]
pub struct Progress(AtomicUsize);

impl Progress {
    pub fn steps(&self) -> usize {
        self.0.load(SeqCst)
    }

    pub fn step(&self) {
        self.0.fetch_add(1, SeqCst);
    }
}

pub struct Load {
    pub seed: u64,
    /// Steps of each user.
    pub steps: usize,
}

impl Load {
    /// Returns the acknowledged actions.
    pub async fn run(&self, world: &World, service: &impl Service, progress: &Progress) -> Done {
        let users = (0..world.people.len()).map(|actor| self.run_user(world, actor, service, progress));
        let mut all = Done::default();
        for done in join_all(users).await {
            all.add(done);
        }
        // So that the rows of all users count at the end.
        let restore = Act::Hide { user: world.hidden(), hidden: false };
        let key = format!("{}-restore", world.people[0].id);
        until(restore, || service.act(world, 0, restore, &key)).await;
        // Events of the user may still be in the log.
        let erase = Act::Erase { user: world.leaving() };
        let key = format!("{}-erase", world.people[0].id);
        let acted = until(erase, || service.act(world, 0, erase, &key)).await;
        all.note(world.people[0].id, erase, acted);
        all
    }

    async fn run_user(
        &self,
        world: &World,
        actor: usize,
        service: &impl Service,
        progress: &Progress,
    ) -> Done {
        let mut rng = StdRng::seed_from_u64(self.seed * 1_000 + actor as u64);
        let (me, mut done) = (world.people[actor].id, Done::default());
        for step in 0..self.steps {
            let act = world.any_act(me, &done, &mut rng);
            let key = format!("{}-{actor}-{step}", world.people[0].id);
            let acted = until(act, || service.act(world, actor, act, &key)).await;
            done.note(me, act, acted);
            // The history tells whether own states and `changed` are right.
            if let Act::Flip { kind, target, .. } = act
                && rng.random_bool(0.3)
            {
                until(act, || service.is_on(world, actor, kind, target.id)).await;
            }
            if rng.random_bool(0.2) {
                service.read(world).await;
            }
            progress.step();
        }
        done
    }
}

/// Repeats a call until there is a reply.
pub async fn until<T, F: Future<Output = Answer<T>>>(act: Act, mut call: impl FnMut() -> F) -> T {
    let start = Instant::now();
    loop {
        match call().await {
            Ok(reply) => return reply,
            Err(why) => {
                assert!(start.elapsed() < STEP_TIMEOUT, "no reply to {act:?} for {STEP_TIMEOUT:?}: {why}")
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
