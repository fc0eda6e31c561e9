//! Membership: whether edges of a user are on. Exact for edges of any age: read from pending flips, then from
//! the actor's cached set, then from PostgreSQL for targets below the set's floor.

use std::{
    collections::{BTreeMap, HashMap},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};

use super::{DomainResult, Plaudit};
use crate::{
    catalogue::EdgeKind,
    primitives::{Id, Offset, UserId},
    store::{
        StoreError, StoreResult,
        redis::{EdgeRow, Membership, Redis, SET_CAP},
        single_flight::SingleFlight,
        sql::Db,
    },
};

/// Attempts before a request gives up because the shard's state keeps changing.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);

/// Whether edges of one actor are on.
pub type EdgeStates = HashMap<(EdgeKind, Id), bool>;

pub(super) struct Memberships {
    redis: Redis,
    db: Db,
    loads: SingleFlight<(EdgeKind, UserId), ()>,
    /// Last known generation of each shard's log: the markers of sets contain it.
    generations: Vec<AtomicU64>,
}

impl Memberships {
    pub fn new(redis: Redis, db: Db) -> Self {
        let generations = redis.shards().all().map(|_| AtomicU64::new(1)).collect();
        Self { redis, db, loads: SingleFlight::default(), generations }
    }

    /// One round trip if Redis has all sets.
    async fn states(&self, actor: UserId, edges: &[(EdgeKind, Id)]) -> DomainResult<EdgeStates> {
        let mut known = EdgeStates::with_capacity(edges.len());
        let mut wanted = edges.to_vec();
        for _ in 0..ATTEMPTS {
            let generation = self.generation(actor);
            let read = self.redis.read_membership(actor, &wanted, generation).await?;
            self.set_generation(actor, read.generation);
            let (mut without_set, mut below_floor) = (Vec::new(), BTreeMap::<EdgeKind, Vec<Id>>::new());
            wanted.clear();
            for ((kind, target), state) in read.states {
                match state {
                    Membership::On | Membership::Off => {
                        known.insert((kind, target), state == Membership::On);
                    }
                    Membership::NoSet => {
                        wanted.push((kind, target));
                        if !without_set.contains(&kind) {
                            without_set.push(kind);
                        }
                    }
                    Membership::BelowFloor => below_floor.entry(kind).or_default().push(target),
                }
            }
            for (kind, targets) in below_floor {
                match self.rows(actor, kind, &targets, read.retired).await? {
                    Some(rows) => known.extend(rows.into_iter().map(|(id, on)| ((kind, id), on))),
                    None => wanted.extend(targets.into_iter().map(|target| (kind, target))),
                }
            }
            if wanted.is_empty() {
                return Ok(known);
            }
            // Otherwise the read used an outdated generation, and the set may exist.
            if read.generation == generation {
                for kind in without_set {
                    self.load_set(actor, kind).await?;
                }
            }
        }
        Err(StoreError::Contended { tries: ATTEMPTS }.into())
    }

    /// States of edges from PostgreSQL; `None` if the answer is older than what Redis has retired.
    async fn rows(
        &self,
        actor: UserId,
        kind: EdgeKind,
        targets: &[Id],
        retired: Offset,
    ) -> StoreResult<Option<Vec<(Id, bool)>>> {
        let shard = self.redis.shard_of(actor.0);
        let (states, persisted) = self.db.edge_states(shard, kind, actor, targets).await?;
        Ok((persisted >= retired).then(|| states.into_iter().map(|s| (s.target, s.is_on)).collect()))
    }

    /// The row of one edge, for the script `flip_edge`.
    pub async fn row(&self, actor: UserId, kind: EdgeKind, target: Id) -> DomainResult<Option<EdgeRow>> {
        let shard = self.redis.shard_of(actor.0);
        let (states, persisted) = self.db.edge_states(shard, kind, actor, &[target]).await?;
        Ok(states.first().map(|state| EdgeRow { is_on: state.is_on, persisted }))
    }

    /// Loads an actor's set from PostgreSQL into Redis; concurrent callers share one load.
    pub async fn load_set(&self, actor: UserId, kind: EdgeKind) -> DomainResult<()> {
        let (redis, db) = (self.redis.clone(), self.db.clone());
        let key = (kind, actor);
        let load = |_| async move {
            load_set(&redis, &db, actor, kind).await?;
            Ok(HashMap::from([(key, ())]))
        };
        self.loads.get(&[key], load).await?;
        Ok(())
    }

    fn generation(&self, actor: UserId) -> u64 {
        self.generations[self.redis.shard_of(actor.0).index()].load(Relaxed)
    }

    fn set_generation(&self, actor: UserId, generation: u64) {
        self.generations[self.redis.shard_of(actor.0).index()].store(generation, Relaxed);
    }
}

async fn load_set(redis: &Redis, db: &Db, actor: UserId, kind: EdgeKind) -> StoreResult<()> {
    let shard = redis.shard_of(actor.0);
    for _ in 0..ATTEMPTS {
        let before = redis.log_state(shard).await?;
        let page = db.member_page(shard, kind, actor, SET_CAP).await?;
        let installed =
            redis.install_members(actor, kind, before, page.persisted, &page.targets, page.truncated);
        if installed.await? {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(StoreError::Contended { tries: ATTEMPTS })
}

impl Plaudit {
    /// Which of these edges of the actor are on.
    pub async fn membership(&self, actor: UserId, edges: &[(EdgeKind, Id)]) -> DomainResult<EdgeStates> {
        if edges.is_empty() {
            return Ok(EdgeStates::new());
        }
        self.inner.memberships.states(actor, edges).await
    }
}
