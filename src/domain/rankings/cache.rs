//! Cache of rankings: computed from heat in Redis, or from totals, and kept as snapshots for paging.

use std::{
    cmp::Reverse,
    collections::HashMap,
    fmt,
    hash::{DefaultHasher, Hash, Hasher},
    str::FromStr,
    sync::Arc,
    time::Duration,
};

use moka::sync::Cache;
use serde::{Deserialize, Serialize};

use crate::{
    catalogue::HotWindow,
    primitives::{Id, NoteId},
    store::{StoreError, StoreResult, redis::Redis, single_flight::SingleFlight, sql::Db},
};

/// Most notes of a ranking.
const MOST: usize = 1_000;
/// PostgreSQL finds candidates by coarse steps of heat: so many of the highest are ranked.
const CANDIDATES: usize = 4 * MOST;
/// How long a ranking is current, for all instances; each may show it for [`LOCAL_LIFE`] longer.
const LIFE: Duration = Duration::from_secs(5);
const LOCAL_LIFE: Duration = Duration::from_secs(1);
/// How long a snapshot lives after its ranking was current: the time a reader has for the next page.
const SNAPSHOT_LIFE: Duration = Duration::from_secs(10 * 60);
/// Snapshots in this process, of some kilobytes each.
const CAPACITY: u64 = 500;

/// Hash of a ranking: equal rankings have the same id.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RankingId(u64);

impl fmt::Display for RankingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for RankingId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Self)
    }
}

/// The hottest notes of a window at one moment, hottest first.
#[derive(PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Ranking {
    pub id: RankingId,
    pub notes: Vec<NoteId>,
}

impl Ranking {
    fn of(window: HotWindow, notes: Vec<NoteId>) -> Self {
        let mut hasher = DefaultHasher::new();
        (window.name(), &notes).hash(&mut hasher);
        Self { id: RankingId(hasher.finish()), notes }
    }
}

/// Reads rankings from this process, then Redis. Computes the current one when it has expired.
pub struct Rankings {
    current: Cache<HotWindow, Arc<Ranking>>,
    snapshots: Cache<RankingId, Arc<Ranking>>,
    flights: SingleFlight<HotWindow, Arc<Ranking>>,
    redis: Redis,
    db: Db,
}

impl Rankings {
    pub fn new(redis: Redis, db: Db) -> Self {
        Self {
            current: Cache::builder().time_to_live(LOCAL_LIFE).build(),
            snapshots: Cache::builder().max_capacity(CAPACITY).time_to_live(SNAPSHOT_LIFE).build(),
            flights: SingleFlight::default(),
            redis,
            db,
        }
    }

    pub async fn current(&self, window: HotWindow) -> StoreResult<Arc<Ranking>> {
        if let Some(ranking) = self.current.get(&window) {
            return Ok(ranking);
        }
        let (redis, db) = (self.redis.clone(), self.db.clone());
        let compute = |_| async move {
            let ranking = current(&redis, &db, window).await?;
            Ok(HashMap::from([(window, Arc::new(ranking))]))
        };
        let computed = self.flights.get(&[window], compute).await?.remove(&window);
        let ranking = computed.ok_or_else(|| StoreError::Unexpected("no ranking was computed".into()))?;
        self.current.insert(window, Arc::clone(&ranking));
        self.snapshots.insert(ranking.id, Arc::clone(&ranking));
        Ok(ranking)
    }

    /// The ranking with this id; the current one, if the snapshot has expired.
    pub async fn snapshot(&self, window: HotWindow, id: RankingId) -> StoreResult<Arc<Ranking>> {
        if let Some(ranking) = self.snapshots.get(&id) {
            return Ok(ranking);
        }
        match self.redis.ranking_snapshot::<Ranking>(window, id).await? {
            Some(ranking) => {
                let ranking = Arc::new(ranking);
                self.snapshots.insert(id, Arc::clone(&ranking));
                Ok(ranking)
            }
            None => self.current(window).await,
        }
    }
}

/// The ranking that all instances show now, computed if there is none.
async fn current(redis: &Redis, db: &Db, window: HotWindow) -> StoreResult<Ranking> {
    if let Some(ranking) = redis.ranking(window).await? {
        return Ok(ranking);
    }
    let ranking = Ranking::of(window, hottest(redis, db, window).await?);
    redis.write_ranking(window, ranking.id, &ranking, LIFE, SNAPSHOT_LIFE).await?;
    Ok(ranking)
}

/// By the heat of the window; by totals, if Redis has no heat.
async fn hottest(redis: &Redis, db: &Db, window: HotWindow) -> StoreResult<Vec<NoteId>> {
    let of_shards = match window {
        HotWindow::Last(span) => redis.hottest(span, chrono::Utc::now().timestamp_millis(), MOST).await?,
        HotWindow::All => None,
    };
    let hot = ranked(of_shards.unwrap_or_default(), 1);
    if !hot.is_empty() {
        return Ok(hot);
    }
    Ok(ranked(db.hot_candidates(CANDIDATES).await?, i64::MIN))
}

/// Ranks notes by the sum of their heat, those with at least `least`; on a tie, the newer note first.
fn ranked(heat: Vec<(Id, i64)>, least: i64) -> Vec<NoteId> {
    let mut sums = HashMap::<Id, i64>::new();
    for (note, heat) in heat {
        *sums.entry(note).or_default() += heat;
    }
    let mut notes: Vec<(Id, i64)> = sums.into_iter().filter(|(_, heat)| *heat >= least).collect();
    notes.sort_unstable_by_key(|(note, heat)| Reverse((*heat, *note)));
    notes.truncate(MOST);
    notes.into_iter().map(|(note, _)| NoteId(note)).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::catalogue::Span;

    fn note(id: i64) -> NoteId {
        NoteId(Id::try_from(id).unwrap())
    }

    proptest! {
        #[test]
        fn the_hotter_note_comes_first_and_on_a_tie_the_newer_one(
            heat in prop::collection::btree_map(1..5_000_i64, 1..50_i64, 0..1_500),
        ) {
            let notes = heat.iter().map(|(id, heat)| (note(*id).0, *heat)).collect();
            let ranked = ranked(notes, 1);
            prop_assert_eq!(ranked.len(), heat.len().min(MOST));
            for pair in ranked.windows(2) {
                let rank = |note: NoteId| (heat[&note.get()], note);
                prop_assert!(rank(pair[0]) > rank(pair[1]));
            }
        }
    }

    #[test]
    fn an_id_identifies_the_window_and_the_order() {
        let day = HotWindow::Last(Span::Day);
        let ranking = Ranking::of(day, vec![note(1), note(2)]);
        assert_eq!(ranking, Ranking::of(day, vec![note(1), note(2)]));
        assert_ne!(ranking.id, Ranking::of(day, vec![note(2), note(1)]).id);
        assert_ne!(ranking.id, Ranking::of(HotWindow::All, vec![note(1), note(2)]).id);
        assert_eq!(ranking.id.to_string().parse(), Ok(ranking.id));
    }
}
