//! The edges of a batch: of each edge the newest line, written unless the row is newer. They are written in parts, each in
//! a transaction of its own with its totals and invalidations, and no two parts have an edge in common.
//!
//! Locks are taken in the order of every batch: removals, rows of edges, totals in the order of the catalogue.

use std::{cmp::Reverse, collections::BTreeSet};

use super::{carried::CarriedNumbers, settle};
use crate::{
    catalogue::{EdgeKind, Flip},
    pipeline::{Moved, Notices},
    primitives::{Id, ShardCount, UserId},
    store::{
        StoreResult,
        sql::{Tx, edges::ChangedEdge},
    },
};

/// Where an imported edge was told to its target's owner, who knows of it: nobody is told of it, also if it is switched
/// off and on again.
const KNOWN_BEFORE: i64 = -1;
/// Parts that are written at the same time: a connection, and so a core of PostgreSQL's, each.
const PARTS: usize = 2;
/// A smaller part is not worth a transaction.
const LEAST: usize = 1_000;

/// What a part has done.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct WrittenEdges {
    /// Rows that were written or got another time.
    pub rows: u64,
    /// Edges without a row, because a user was erased.
    pub erased: Vec<EdgeKey>,
}

pub type EdgeKey = (EdgeKind, UserId, Id);

pub const fn key(flip: &Flip) -> EdgeKey {
    (flip.kind, flip.actor, flip.target)
}

/// The newest flip of each edge, in the order of edges; of equal times the first.
pub fn newest(flips: impl IntoIterator<Item = Flip>) -> Vec<Flip> {
    let mut flips: Vec<Flip> = flips.into_iter().collect();
    flips.sort_by_key(|flip| (key(flip), Reverse(flip.at))); // stable
    flips.dedup_by_key(|flip| key(flip));
    flips
}

/// Cuts the newest flips into parts.
pub fn parts(flips: &[Flip]) -> impl Iterator<Item = &[Flip]> {
    flips.chunks(flips.len().div_ceil(PARTS).max(LEAST))
}

/// Writes a part. The caller commits.
pub async fn write(tx: &mut Tx, flips: &[Flip], shards: ShardCount) -> StoreResult<WrittenEdges> {
    tx.lock_removals_shared().await?;
    tx.look_up_in_order().await?;
    let mut changes = EdgeChanges {
        moved: Moved::default(),
        notices: Notices::at(0),
        sets: BTreeSet::new(),
        written: WrittenEdges::default(),
    };
    for of_kind in flips.chunk_by(|one, other| one.kind == other.kind) {
        changes.write_kind(tx, of_kind[0].kind, of_kind).await?;
    }
    let EdgeChanges { mut moved, notices, sets, written } = changes;
    settle::settle(tx, &mut moved, &BTreeSet::new(), &[], &CarriedNumbers::default(), &notices).await?;
    settle::invalidate(tx, shards, &moved, BTreeSet::new(), sets).await?;
    Ok(written)
}

/// What the edges of a part change.
struct EdgeChanges<'a> {
    moved: Moved,
    /// Entries of inboxes that lose an edge.
    notices: Notices<'a>,
    /// The cached sets of actors whose edges were switched.
    sets: BTreeSet<(EdgeKind, UserId)>,
    written: WrittenEdges,
}

impl<'a> EdgeChanges<'a> {
    /// Writes flips, at most one per edge, in the order of their edges.
    async fn write_kind(&mut self, tx: &mut Tx, kind: EdgeKind, flips: &'a [Flip]) -> StoreResult<()> {
        let (on, off): (Vec<&Flip>, Vec<&Flip>) = flips.iter().partition(|flip| flip.on);
        let added = tx.add_on(kind, &on, KNOWN_BEFORE).await?;
        self.take(flips, &added);
        let recorded = tx.record_off(kind, &off).await?;
        self.written.rows += recorded.len() as u64;
        if added.len() + recorded.len() == flips.len() {
            return Ok(());
        }
        let added: BTreeSet<(UserId, Id)> = added.iter().map(|row| (row.actor, row.target)).collect();
        let is_done = |flip: &Flip| added.contains(&edge(flip)) || recorded.contains(&edge(flip));
        let rest: Vec<&'a Flip> = flips.iter().filter(|flip| !is_done(flip)).collect();
        self.write_over(tx, kind, flips, &rest).await
    }

    /// Writes those of the flips whose edges have rows, if these are older.
    async fn write_over(
        &mut self,
        tx: &mut Tx,
        kind: EdgeKind,
        flips: &'a [Flip],
        rest: &[&'a Flip],
    ) -> StoreResult<()> {
        let rows = tx.lock_edges(kind, rest).await?;
        let (mut on, mut off, mut same, mut found) = (Vec::new(), Vec::new(), Vec::new(), BTreeSet::new());
        for row in &rows {
            let Some(flip) = flip_of(flips, row.actor, row.target) else { continue };
            found.insert(edge(flip));
            if flip.at <= row.changed_at {
                continue;
            }
            let group = match (row.is_on, flip.on) {
                (false, true) => &mut on,
                (true, false) => &mut off,
                (true, true) | (false, false) => &mut same,
            };
            group.push(flip);
        }
        self.written
            .erased
            .extend(rest.iter().filter(|flip| !found.contains(&edge(flip))).map(|flip| key(flip)));
        let switched = tx.switch_on(kind, &on, KNOWN_BEFORE).await?;
        self.take(flips, &switched);
        let switched = tx.switch_off(kind, &off).await?;
        self.take(flips, &switched);
        self.written.rows += tx.keep_later_times(kind, &same).await?.len() as u64;
        Ok(())
    }

    fn take(&mut self, flips: &'a [Flip], rows: &[ChangedEdge]) {
        self.written.rows += rows.len() as u64;
        for row in rows {
            let Some(flip) = flip_of(flips, row.actor, row.target) else { continue };
            self.sets.insert((flip.kind, flip.actor));
            self.moved.add_edge(flip, row);
            if let Some((inbox, badge, by)) = self.notices.add(flip, row) {
                self.moved.add(inbox, badge, by);
            }
        }
    }
}

const fn edge(flip: &Flip) -> (UserId, Id) {
    (flip.actor, flip.target)
}

/// The flip of an edge among those of one kind.
fn flip_of(flips: &[Flip], actor: UserId, target: Id) -> Option<&Flip> {
    let place = flips.binary_search_by_key(&(actor, target), edge).ok()?;
    Some(&flips[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_lines_about_one_edge_the_newest_counts_and_of_equal_times_the_first() {
        let id = |raw: i64| Id::try_from(raw).unwrap();
        let like = |actor, on, at| Flip {
            kind: EdgeKind::NoteLike,
            actor: UserId(id(actor)),
            target: id(5),
            owner: UserId(id(9)),
            on,
            at,
            by: None,
        };
        let flips =
            [like(2, true, 10), like(1, true, 10), like(1, false, 20), like(1, true, 15), like(2, false, 10)];
        assert_eq!(newest(flips), [like(1, false, 20), like(2, true, 10)]);
    }
}
