//! The end of a transaction of an import: totals, what needs their locks, and invalidations.

use std::collections::BTreeSet;

use super::{carried::CarriedNumbers, line::Reason};
use plaudit_catalogue::{
    Counts, Deltas, EdgeKind, Entity, EntityKind,
    primitives::{CommentId, Id, ShardCount, UserId},
};
use plaudit_counting::{Moved, Notices};
use plaudit_store::{
    StoreResult,
    sql::{
        Tx,
        content::comments,
        counting::{counts, invalidations},
        import::ratings::{self, ImportedRating},
    },
};

/// Why the totals and sets are dropped in Redis.
const REASON: &str = "imported";

/// What was written under the locks of totals.
pub struct Settled {
    pub rows: u64,
    /// Lines whose entities were removed meanwhile, by number.
    pub rejected: Vec<(u64, Reason)>,
}

/// Locks and moves the totals, in the order of the catalogue, and writes what needs their locks.
pub async fn settle(
    tx: &mut Tx,
    moved: &mut Moved,
    touched: &BTreeSet<Entity>,
    ratings: &[ImportedRating],
    carried: &CarriedNumbers<'_>,
    notices: &Notices<'_>,
) -> StoreResult<Settled> {
    let parents = comments_among(touched);
    if !ratings.is_empty() || !carried.is_empty() || !parents.is_empty() {
        let rated = ratings.iter().map(|rating| Entity::from(rating.note));
        let affected: BTreeSet<Entity> =
            moved.totals.keys().copied().chain(rated).chain(carried.affected()).collect();
        counts::lock_all_totals(tx, &affected.into_iter().collect::<Vec<_>>()).await?;
    }
    let (rated, by_ratings) = ratings::import_ratings(tx, ratings).await?;
    moved.add_all(by_ratings);
    let carried = carried.write(tx).await?;
    moved.add_all(carried.moved);
    for kind in EntityKind::ALL {
        let of_kind = of_kind(*kind, &moved.totals);
        counts::add_in_order(tx, *kind, &of_kind).await?;
        if *kind == EntityKind::Inbox && !of_kind.is_empty() {
            let taken_back = notices.write(tx).await?;
            counts::add_totals(tx, *kind, &taken_back).await?;
            moved.add_all(taken_back);
        }
    }
    if !parents.is_empty() {
        comments::set_placeholders(tx, &parents, true).await?;
    }
    Ok(Settled { rows: rated + carried.rows, rejected: carried.rejected })
}

/// Makes Redis drop what it holds of what changed. `touched`: entities whose rows changed.
pub async fn invalidate(
    tx: &mut Tx,
    shards: ShardCount,
    moved: &Moved,
    touched: &BTreeSet<Entity>,
    sets: BTreeSet<(EdgeKind, UserId)>,
) -> StoreResult<()> {
    let counts: Vec<Entity> =
        moved.totals.keys().filter(|entity| !touched.contains(entity)).copied().collect();
    let entities: Vec<Entity> = touched.iter().copied().collect();
    invalidations::add_invalidations(tx, shards, &entities, REASON).await?;
    invalidations::add_count_invalidations(tx, shards, &counts, REASON).await?;
    invalidations::add_set_invalidations(tx, shards, &sets.into_iter().collect::<Vec<_>>(), REASON).await
}

fn comments_among(touched: &BTreeSet<Entity>) -> Vec<CommentId> {
    let comments = touched.iter().filter(|entity| entity.kind == EntityKind::Comment);
    comments.map(|entity| CommentId(entity.id)).collect()
}

fn of_kind(kind: EntityKind, moved: &Deltas) -> Vec<(Id, Counts)> {
    let moved = moved.iter().filter(|(entity, _)| entity.kind == kind);
    moved.map(|(entity, by)| (entity.id, *by)).collect()
}
