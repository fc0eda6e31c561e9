//! Membership: whether edges of a user are on. Exact for edges of any age: read from pending flips, then from
//! the actor's cached set, then from PostgreSQL for targets below the set's floor.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    time::Duration,
};

use crate::DomainResult;
use plaudit_catalogue::{
    EdgeKind,
    primitives::{Id, Offset, UserId, fault},
};
use plaudit_counting::hub::Hearing;
use plaudit_store::{
    StoreError, StoreResult,
    coalescer::Coalescer,
    expiring::Expiring,
    redis::{EdgeRow, Membership, Redis, SET_CAP, members::sets},
    sql::{Db, connection::replica, counting::edges},
};

/// Attempts before a request gives up because the shard's state keeps changing.
const ATTEMPTS: u32 = 20;
const PAUSE: Duration = Duration::from_millis(5);
/// A set that is asked for is renewed once in this time. It is kept for a week, so it is there while PostgreSQL
/// is away.
const RENEWED_EVERY: Duration = Duration::from_hours(12);
/// Sets of which it is known that they were renewed.
const RENEWED_CAPACITY: u64 = 200_000;

pub(crate) struct Memberships {
    redis: Redis,
    db: Db,
    hearing: Hearing,
    loads: Coalescer<(EdgeKind, UserId), ()>,
    renewed: Expiring<(EdgeKind, UserId), ()>,
    row_reads: Coalescer<(EdgeKind, UserId, Id), ()>,
}

/// What an attempt did not find in Redis.
#[derive(Default)]
struct MissingEdges {
    /// Kinds whose sets are loaded before the next attempt.
    sets: BTreeSet<EdgeKind>,
    /// Edges below the floor of a set, by the indexes in the list of edges: their rows are read.
    rows: BTreeMap<EdgeKind, Vec<usize>>,
}

impl Memberships {
    pub fn new(redis: Redis, db: Db, hearing: Hearing) -> Self {
        let life = fault::period("sets.renewed_every", RENEWED_EVERY);
        let renewed = Expiring::of_entries(RENEWED_CAPACITY, life);
        let row_reads = Coalescer::with(db.row_turns());
        Self { redis, db, hearing, loads: Coalescer::default(), renewed, row_reads }
    }

    /// Whether the actor's set is to be renewed with this request.
    pub fn must_renew(&self, actor: UserId, kind: EdgeKind) -> bool {
        self.renewed.is_first(&(kind, actor))
    }

    /// In the order of the edges. One round trip if Redis has all sets.
    pub async fn states(&self, actor: UserId, edges: &[(EdgeKind, Id)]) -> DomainResult<Vec<bool>> {
        let mut known: Vec<Option<bool>> = vec![None; edges.len()];
        for _ in 0..ATTEMPTS {
            let missing = self.read(actor, edges, &mut known).await?;
            if let Some(states) = known.iter().copied().collect() {
                return Ok(states);
            }
            for kind in missing.sets {
                self.load_set(actor, kind).await?;
            }
        }
        Err(StoreError::Contended { tries: ATTEMPTS }.into())
    }

    /// One attempt: reads the edges that are not known yet.
    async fn read(
        &self,
        actor: UserId,
        edges: &[(EdgeKind, Id)],
        known: &mut [Option<bool>],
    ) -> DomainResult<MissingEdges> {
        let wanted: Vec<usize> = (0..edges.len()).filter(|index| known[*index].is_none()).collect();
        let asked: Vec<_> = wanted.iter().map(|index| edges[*index]).collect();
        let kinds: BTreeSet<EdgeKind> = asked.iter().map(|(kind, _)| *kind).collect();
        let to_renew: Vec<EdgeKind> =
            kinds.into_iter().filter(|kind| self.must_renew(actor, *kind)).collect();
        let read = sets::read_membership(&self.redis, actor, &asked, &to_renew).await?;
        let mut missing = MissingEdges::default();
        for (index, state) in wanted.into_iter().zip(read.states) {
            let kind = edges[index].0;
            match state {
                Membership::On => known[index] = Some(true),
                Membership::Off => known[index] = Some(false),
                Membership::NoSet => {
                    missing.sets.insert(kind);
                }
                Membership::BelowFloor => missing.rows.entry(kind).or_default().push(index),
            }
        }
        for (kind, indexes) in &missing.rows {
            let targets: Vec<Id> = indexes.iter().map(|index| edges[*index].1).collect();
            let rows = self.rows(actor, *kind, &targets, read.retired).await?;
            for (index, is_on) in indexes.iter().zip(rows.into_iter().flatten()) {
                known[*index] = Some(is_on);
            }
        }
        Ok(missing)
    }

    /// While Redis is away: from rows, which lack what is not persisted. In the order of the edges. Read for
    /// each request, in one statement with the edges of others that wait.
    pub async fn states_of_rows(&self, actor: UserId, edges: &[(EdgeKind, Id)]) -> DomainResult<Vec<bool>> {
        self.hearing.note_stale_read();
        let asked: Vec<_> = edges.iter().map(|(kind, target)| (*kind, actor, *target)).collect();
        let db = self.db.clone();
        let on = self.row_reads.get(&asked, |edges| read_edges(db, edges)).await?;
        Ok(asked.iter().map(|edge| on.contains_key(edge)).collect())
    }

    /// States of edges from PostgreSQL, in the order of the targets; `None` if the answer is older than what Redis has
    /// retired.
    async fn rows(
        &self,
        actor: UserId,
        kind: EdgeKind,
        targets: &[Id],
        retired: Offset,
    ) -> StoreResult<Option<Vec<bool>>> {
        let shard = self.redis.shard_of(actor.0);
        let read = |db: Db| async move { edges::edge_states(&db, shard, kind, actor, targets).await };
        let (states, persisted) = replica::from_replica(&self.db, read, |states| states.1 >= retired).await?;
        Ok((persisted >= retired).then(|| states.into_iter().map(|state| state.is_on).collect()))
    }

    /// The row of one edge, for the script `flip_edge`.
    pub async fn row(&self, actor: UserId, kind: EdgeKind, target: Id) -> DomainResult<Option<EdgeRow>> {
        let shard = self.redis.shard_of(actor.0);
        let (states, persisted) = edges::edge_states(&self.db, shard, kind, actor, &[target]).await?;
        Ok(states.first().map(|state| EdgeRow { is_on: state.is_on, persisted }))
    }

    /// Loads an actor's set from PostgreSQL into Redis; concurrent callers share one load.
    pub async fn load_set(&self, actor: UserId, kind: EdgeKind) -> DomainResult<()> {
        let (redis, db) = (self.redis.clone(), self.db.clone());
        let key = (kind, actor);
        let load = move |_| async move {
            load_set(&redis, &db, actor, kind).await?;
            Ok(HashMap::from([(key, ())]))
        };
        self.loads.get(&[key], load).await?;
        Ok(())
    }
}

/// Returns the edges that are on.
async fn read_edges(
    db: Db,
    edges: Vec<(EdgeKind, UserId, Id)>,
) -> StoreResult<HashMap<(EdgeKind, UserId, Id), ()>> {
    let mut by_kind = BTreeMap::<EdgeKind, Vec<(UserId, Id)>>::new();
    for (kind, actor, target) in edges {
        by_kind.entry(kind).or_default().push((actor, target));
    }
    let mut on = HashMap::new();
    for (kind, edges) in by_kind {
        let rows = edges::edges_on(&db, kind, &edges).await?;
        on.extend(rows.into_iter().map(|(actor, target)| ((kind, actor, target), ())));
    }
    Ok(on)
}

async fn load_set(redis: &Redis, db: &Db, actor: UserId, kind: EdgeKind) -> StoreResult<()> {
    let shard = redis.shard_of(actor.0);
    for _ in 0..ATTEMPTS {
        let before = sets::log_state(redis, shard).await?;
        let page = edges::member_page(db, shard, kind, actor, SET_CAP).await?;
        let installed =
            sets::install_members(redis, actor, kind, before, page.persisted, &page.targets, page.truncated);
        if installed.await? {
            return Ok(());
        }
        tokio::time::sleep(PAUSE).await;
    }
    Err(StoreError::Contended { tries: ATTEMPTS })
}
