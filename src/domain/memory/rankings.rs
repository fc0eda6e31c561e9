//! The rankings that this process shows: the last ones that it has read, and snapshots of earlier ones for paging.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;

use plaudit_catalogue::{HotWindow, Ranking, RankingId};
use plaudit_counting::hub::Hearing;
use plaudit_store::{
    RANKING_SNAPSHOT_LIFE, StoreError, StoreResult,
    coalescer::Coalescer,
    expiring::Expiring,
    redis::{Redis, entities},
    sql::{Db, counting},
};

/// How long a ranking is shown before it is read again.
const FRESH: Duration = Duration::from_secs(1);
/// Snapshots in this process, of some kilobytes each.
const CAPACITY: u64 = 500;

/// A ranking, and when it was read.
#[derive(Clone)]
struct Shown {
    ranking: Arc<Ranking>,
    at: Instant,
}

/// Reads rankings from Redis, where a job of the pipeline keeps the newest.
pub struct Rankings {
    last: Mutex<HashMap<HotWindow, Shown>>,
    snapshots: Expiring<RankingId, Arc<Ranking>>,
    flights: Coalescer<HotWindow, Arc<Ranking>>,
    redis: Redis,
    db: Db,
    hearing: Hearing,
}

impl Rankings {
    pub fn new(redis: Redis, db: Db, hearing: Hearing) -> Self {
        Self {
            last: Mutex::default(),
            snapshots: Expiring::of_entries(CAPACITY, RANKING_SNAPSHOT_LIFE),
            flights: Coalescer::default(),
            redis,
            db,
            hearing,
        }
    }

    /// The newest ranking. While Redis has none or is away, the last one that this process has read.
    pub async fn current(&self, window: HotWindow) -> StoreResult<Arc<Ranking>> {
        let last = self.last.lock().get(&window).cloned();
        if let Some(last) = last.as_ref().filter(|last| last.at.elapsed() < FRESH) {
            return Ok(Arc::clone(&last.ranking));
        }
        let last = last.map(|last| last.ranking);
        match (self.read(window, last.clone()).await, last) {
            (Ok(ranking), _) => {
                let shown = Shown { ranking: Arc::clone(&ranking), at: Instant::now() };
                self.last.lock().insert(window, shown);
                self.snapshots.insert(ranking.id, Arc::clone(&ranking));
                Ok(ranking)
            }
            (Err(error), Some(last)) => {
                tracing::debug!(%error, "cannot read a ranking; the last one is shown");
                Ok(last)
            }
            // Ranked by totals, and not kept.
            (Err(error), None) if error.is_redis_away() => {
                self.hearing.note_stale_read();
                let _permit = self.db.row_turns().wait().await?;
                let notes = counting::rankings::hot_candidates(&self.db, Ranking::CANDIDATES).await?;
                Ok(Arc::new(Ranking::by_totals(window, notes)))
            }
            (Err(error), None) => Err(error),
        }
    }

    /// Concurrent requests share one read.
    async fn read(&self, window: HotWindow, last: Option<Arc<Ranking>>) -> StoreResult<Arc<Ranking>> {
        let (redis, db) = (self.redis.clone(), self.db.clone());
        let read = move |_| async move {
            let ranking = newest(&redis, &db, window, last).await?;
            Ok(HashMap::from([(window, ranking)]))
        };
        let read = self.flights.get(&[window], read).await?.remove(&window);
        read.ok_or_else(|| StoreError::Unexpected("no ranking was read".into()))
    }

    /// The ranking with this id; the current one, if the snapshot has expired.
    pub async fn snapshot(&self, window: HotWindow, id: RankingId) -> StoreResult<Arc<Ranking>> {
        if let Some(ranking) = self.snapshots.get(&id) {
            return Ok(ranking);
        }
        match entities::rankings::ranking_snapshot(&self.redis, window, id).await {
            Ok(Some(ranking)) => {
                let ranking = Arc::new(ranking);
                self.snapshots.insert(id, Arc::clone(&ranking));
                Ok(ranking)
            }
            Ok(None) | Err(_) => self.current(window).await,
        }
    }
}

/// The newest ranking; before the first one is made, the notes are ranked by their totals.
async fn newest(
    redis: &Redis,
    db: &Db,
    window: HotWindow,
    last: Option<Arc<Ranking>>,
) -> StoreResult<Arc<Ranking>> {
    match (entities::rankings::ranking(redis, window).await?, last) {
        (Some(ranking), _) => Ok(Arc::new(ranking)),
        (None, Some(last)) if !last.notes.is_empty() => Ok(last),
        (None, _) => Ok(Arc::new(Ranking::by_totals(
            window,
            counting::rankings::hot_candidates(db, Ranking::CANDIDATES).await?,
        ))),
    }
}
