//! Lists along edges. The targets of a user (likes, collects, follows, memberships) are exact right after a
//! flip; the actors of a target (likers, followers, members) show what is persisted.

use std::cmp::Reverse;

use crate::{DomainResult, Plaudit};
use plaudit_catalogue::{
    EdgeKind,
    primitives::{Id, Moment, PageRequest, Slice, UserId},
};
use plaudit_store::{
    StoreError,
    redis::{
        NEWEST, NewestEdges, Pending, PendingFlip,
        members::{newest, pending},
    },
    sql::{Db, connection::replica, counting::lists},
};

/// Attempts before a request gives up because the shard's state keeps changing.
const ATTEMPTS: u32 = 20;

/// Targets whose edge the actor switched on, newest first: from the newest edges that Redis keeps, or from
/// rows; and from pending flips.
pub async fn targets_of(
    plaudit: &Plaudit,
    actor: UserId,
    kind: EdgeKind,
    page: &PageRequest<Moment>,
) -> DomainResult<Slice<Moment>> {
    let (redis, db) = (&plaudit.inner.redis, &plaudit.inner.db);
    let shard = redis.shard_of(actor.0);
    for _ in 0..ATTEMPTS {
        let (pending, newest) = match pending::pending_flips(redis, actor, kind).await {
            // The rows lack what is not persisted.
            Err(error) if error.is_redis_away() => {
                plaudit.hub().hearing().note_stale_read();
                let _permit = db.row_turns().wait().await?;
                return Ok(page.slice(lists::targets_of(db, shard, kind, actor, &[], page).await?.0));
            }
            pending => pending?,
        };
        let except: Vec<Id> = pending.flips.iter().map(|flip| flip.target).collect();
        let except = &except;
        if let Some(rows) = newest.and_then(|newest| newest.rows(except, page)) {
            return Ok(page.slice(merge(rows, &pending, page)));
        }
        if page.after.is_none() && NewestEdges::are_kept(kind) {
            let newest = load_newest(plaudit, actor, kind, &pending).await?;
            if let Some(rows) = newest.and_then(|newest| newest.rows(except, page)) {
                return Ok(page.slice(merge(rows, &pending, page)));
            }
        }
        let read = |db: Db| async move { lists::targets_of(&db, shard, kind, actor, except, page).await };
        // What was retired before the flips were read must be in the rows.
        let (rows, persisted) =
            replica::from_replica(db, read, |rows| rows.1 >= pending.state.retired).await?;
        if persisted >= pending.state.retired {
            return Ok(page.slice(merge(rows, &pending, page)));
        }
    }
    Err(StoreError::Contended { tries: ATTEMPTS }.into())
}

/// Reads the newest edges from rows, and keeps them in Redis; `None` if the rows lack what is no longer
/// pending. Not from a replica: rows that it does not have yet would stay hidden.
async fn load_newest(
    plaudit: &Plaudit,
    actor: UserId,
    kind: EdgeKind,
    pending: &Pending,
) -> DomainResult<Option<NewestEdges>> {
    let (redis, db) = (&plaudit.inner.redis, &plaudit.inner.db);
    let (mut edges, persisted) =
        lists::newest_edges(db, redis.shard_of(actor.0), kind, actor, NEWEST + 1).await?;
    if persisted < pending.state.retired {
        return Ok(None);
    }
    let truncated = edges.len() > NEWEST;
    edges.truncate(NEWEST);
    let newest = NewestEdges { edges, truncated };
    if let Err(error) = newest::keep_newest(redis, actor, kind, pending.state, persisted, &newest).await {
        tracing::debug!(%error, "cannot keep the newest edges of an actor; the next reader will");
    }
    Ok(Some(newest))
}

/// Users who switched the edge to the target on, newest first, without hidden users.
pub async fn actors_of(
    plaudit: &Plaudit,
    kind: EdgeKind,
    target: Id,
    page: &PageRequest<Moment>,
) -> DomainResult<Slice<Moment>> {
    let read = |db: Db| async move { lists::actors_of(&db, kind, target, page).await };
    Ok(replica::from_replica(&plaudit.inner.db, read, |_| true).await?)
}

/// Merges rows of targets without pending flips, and pending flips that are on, in the order of the list.
fn merge(mut rows: Vec<Moment>, pending: &Pending, page: &PageRequest<Moment>) -> Vec<Moment> {
    let before = page.before();
    let moment = |flip: &PendingFlip| Moment { micros: flip.at * 1_000, id: flip.target };
    let switched_on = pending.flips.iter().filter(|flip| flip.is_on).map(moment);
    rows.extend(switched_on.filter(|moment| *moment < before));
    rows.sort_unstable_by_key(|moment| Reverse(*moment));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_store::redis::LogState;

    fn id(raw: i64) -> Id {
        Id::try_from(raw).unwrap()
    }

    fn at(millis: i64, target: i64) -> Moment {
        Moment { micros: millis * 1_000, id: id(target) }
    }

    #[test]
    fn pending_flips_are_merged_into_the_rows_by_time() {
        let flip = |at, target, is_on| PendingFlip { target: id(target), is_on, at };
        let flips = vec![flip(30, 3, true), flip(15, 4, true), flip(40, 5, false)];
        let pending = Pending { flips, state: LogState::empty() };
        let rows = vec![at(20, 1), at(10, 2)];
        let first = PageRequest { first: 10, after: None };
        assert_eq!(merge(rows.clone(), &pending, &first), [at(30, 3), at(20, 1), at(15, 4), at(10, 2)]);
        // After the cursor come only older ones.
        let next = PageRequest { first: 10, after: Some(at(20, 1)) };
        assert_eq!(merge(vec![at(10, 2)], &pending, &next), [at(15, 4), at(10, 2)]);
    }
}
