//! A streaming standby that answers reads of lists: those that show what is persisted, and those whose answer carries
//! the offset that it shows. What is read there may be [`MOST_LAG`] old, so it enters no cache and no counter.

use std::time::{Duration, Instant};

use super::{
    pool::Replica,
    replica_progress::{Lsn, MOST_LAG},
};
use crate::{
    StoreError, StoreResult,
    sql::{Db, Timeline},
};

/// How often the places of both are compared.
const COMPARE_EVERY: Duration = Duration::from_millis(500);

const PLACE: &str =
    "SELECT pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0')::bigint, subject_salt FROM installation";
const REPLAYED: &str =
    "SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint, subject_salt, timeline
                        FROM installation WHERE pg_is_in_recovery()";

impl Replica {
    /// Compares the places once. Returns why the replica cannot be used, if it cannot.
    async fn compare(&self, primary: &Db) -> Option<String> {
        // PostgreSQL is asked first, so that what the replica has replayed is compared with an earlier place. While
        // PostgreSQL is away nothing new is persisted, and its last places stay.
        let at = Instant::now();
        let of_primary: StoreResult<(Lsn, Vec<u8>)> =
            primary.run(sqlx::query_as(PLACE).fetch_one(&primary.pool())).await;
        let of_replica: StoreResult<Option<(Lsn, Vec<u8>, String)>> =
            self.db.run(sqlx::query_as(REPLAYED).fetch_optional(&self.db.pool())).await;
        let (replayed, why) = match (&of_primary, of_replica) {
            (_, Err(error)) => (None, Some(error.to_string())),
            (_, Ok(None)) => (None, Some("it is no standby".to_owned())),
            (Ok((_, salt)), Ok(Some((_, other, _)))) if *salt != other => {
                (None, Some("it has another installation".to_owned()))
            }
            (_, Ok(Some((place, _, timeline)))) => (Some((place, Timeline::parse(&timeline))), None),
        };
        let mut progress = self.progress.lock();
        progress.replayed = replayed;
        if let Ok((place, _)) = of_primary {
            progress.primary_was_at(at, place);
        }
        let late = || "it is more than 10 s behind, or on another timeline".to_owned();
        why.or_else(|| (!progress.is_near(primary.timeline())).then(late))
    }
}

/// Reads from the replica, if there is one that is near. If it fails, or has an answer that is not
/// `accepted`, reads from PostgreSQL itself.
pub async fn from_replica<T, F>(
    db: &Db,
    read: impl Fn(Db) -> F,
    accepted: impl FnOnce(&T) -> bool,
) -> StoreResult<T>
where
    F: Future<Output = StoreResult<T>>,
{
    if let Some(replica) = db.replica()
        && replica.progress.lock().is_near(db.timeline())
    {
        match read(replica.db.clone()).await {
            Ok(answer) if accepted(&answer) => return Ok(answer),
            Ok(_) => {}
            Err(error) => {
                replica.progress.lock().replayed = None; // until it has answered a comparison
                tracing::debug!(%error, "the replica failed");
            }
        }
    }
    read(db.clone()).await
}

/// The replica, once it has all that is persisted now; this one if there is no replica.
///
/// # Errors
/// [`StoreError::Misconfigured`] if the replica is not near within [`MOST_LAG`].
pub async fn replica_of_now(db: &Db) -> StoreResult<Db> {
    let Some(replica) = db.replica() else { return Ok(db.clone()) };
    let began = Instant::now();
    while let Some(why) = replica.compare(db).await {
        if began.elapsed() > MOST_LAG {
            return Err(StoreError::Misconfigured(format!("database_replica_url cannot be used: {why}")));
        }
        tokio::time::sleep(COMPARE_EVERY).await;
    }
    Ok(replica.db.clone())
}

/// Compares the replica with PostgreSQL for as long as it is polled, if there is one.
pub async fn watch_replica(db: &Db) {
    let Some(replica) = db.replica() else { return };
    let primary = db.patient();
    let mut told = None;
    // The first comparison is too early to decide: it asks for all that PostgreSQL has just written.
    replica.compare(&primary).await;
    loop {
        tokio::time::sleep(COMPARE_EVERY).await;
        let now = replica.compare(&primary).await;
        if told.as_ref().is_none_or(|told| *told != now) {
            match &now {
                Some(why) => {
                    tracing::warn!("lists are read from PostgreSQL itself, not from the replica: {why}")
                }
                None => tracing::info!("lists are read from the replica"),
            }
            told = Some(now);
        }
    }
}
