//! The edges of a batch: of each edge the newest line, written unless the row is newer. They are written in
//! chunks, each in one transaction with its totals and invalidations, and no two chunks have an edge in common.
//!
//! Locks are taken in the order of every batch: removals, rows of edges, totals in the order of the catalogue.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use super::{carried::CarriedNumbers, settle};
use plaudit_catalogue::{
    EdgeKind, Flip,
    primitives::{Id, UserId},
};
use plaudit_counting::{Moved, Notices};
use plaudit_store::{
    StoreResult,
    sql::{
        Tx,
        counting::{self, edges::ChangedEdge},
        import,
        ownership::shards,
    },
};

/// The marker `told` of an imported edge: its target's owner knows of it and is never notified of it, also if it is
/// switched off and on again.
pub const KNOWN_BEFORE: i64 = -1;

/// What a chunk has done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WrittenEdges {
    /// Rows that were written or got another time.
    pub rows: u64,
    /// Edges without a row, because a user was erased.
    pub erased: Vec<EdgeKey>,
}

/// What Redis has of the totals and cached sets that a chunk has changed is to be dropped.
pub struct Stale {
    pub totals: Moved,
    /// Of actors whose edges were switched.
    pub sets: BTreeSet<(EdgeKind, UserId)>,
}

impl WrittenEdges {
    /// What two chunks have done.
    pub fn and(mut self, other: Self) -> Self {
        self.rows += other.rows;
        self.erased.extend(other.erased);
        self
    }
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

/// Cuts the newest flips into so many chunks. Flips of one owner are in one chunk, so that chunks share few
/// totals: each row of totals moves once, and of chunks that are written at the same time none waits until
/// another one has committed.
pub fn chunks(flips: Vec<Flip>, count: usize) -> Vec<Vec<Flip>> {
    if flips.is_empty() {
        return Vec::new();
    }
    let by_owner = by_owner(&flips, count);
    let largest = by_owner.iter().map(Vec::len).max().unwrap_or_default();
    // Many edges belong to one owner: their chunk would take too long.
    if largest * count > flips.len() * 3 / 2 {
        return flips.chunks(flips.len().div_ceil(count)).map(<[Flip]>::to_vec).collect();
    }
    by_owner
}

/// Each owner's flips go to the chunk that has the fewest yet; owners with many flips first.
fn by_owner(flips: &[Flip], chunks: usize) -> Vec<Vec<Flip>> {
    let mut of_owner = HashMap::<UserId, usize>::new();
    for flip in flips {
        *of_owner.entry(flip.owner).or_default() += 1;
    }
    let mut owners: Vec<(UserId, usize)> = of_owner.into_iter().collect();
    owners.sort_unstable_by_key(|(owner, count)| (Reverse(*count), *owner));
    let (mut lengths, mut chunk_of) = (vec![0; chunks], HashMap::new());
    for (owner, count) in owners {
        let shortest = (0..chunks).min_by_key(|chunk| lengths[*chunk]).unwrap_or_default();
        lengths[shortest] += count;
        chunk_of.insert(owner, shortest);
    }
    let mut cut: Vec<Vec<Flip>> = lengths.into_iter().map(Vec::with_capacity).collect();
    for flip in flips {
        cut[chunk_of[&flip.owner]].push(*flip);
    }
    cut.retain(|chunk| !chunk.is_empty()); // there may be fewer owners
    cut
}

/// Writes a chunk with its totals. The caller invalidates and commits. `told`: as in `counting::edges::switch_on`.
/// `are_new`: whether all edges of the last chunk were new, and so this one's probably are.
pub async fn write(
    tx: &mut Tx,
    flips: &[Flip],
    told: i64,
    are_new: &AtomicBool,
) -> StoreResult<(WrittenEdges, Stale)> {
    shards::lock_removals_shared(tx).await?;
    let mut changes = EdgeChanges {
        told,
        are_new,
        moved: Moved::default(),
        notices: Notices::at(0),
        sets: BTreeSet::new(),
        written: WrittenEdges::default(),
    };
    for of_kind in flips.chunk_by(|one, other| one.kind == other.kind) {
        changes.write_kind(tx, of_kind[0].kind, of_kind).await?;
    }
    let EdgeChanges { mut moved, notices, sets, written, .. } = changes;
    settle::settle(tx, &mut moved, &BTreeSet::new(), &[], &CarriedNumbers::default(), &notices).await?;
    Ok((written, Stale { totals: moved, sets }))
}

/// What the edges of a chunk change.
struct EdgeChanges<'a> {
    told: i64,
    are_new: &'a AtomicBool,
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
        let added = counting::edges::add_on(tx, kind, &on, self.told, self.are_new.load(Relaxed)).await?;
        if !on.is_empty() {
            self.are_new.store(added.len() == on.len(), Relaxed);
        }
        self.take(flips, &added);
        let recorded = counting::edges::record_off(tx, kind, &off).await?;
        self.written.rows += recorded.len() as u64;
        if added.len() + recorded.len() == flips.len() {
            return Ok(());
        }
        let added: BTreeSet<(UserId, Id)> = added.iter().map(|row| (row.actor, row.target)).collect();
        let is_done = |flip: &Flip| added.contains(&edge(flip)) || recorded.contains(&edge(flip));
        let rest: Vec<&'a Flip> = flips.iter().filter(|flip| !is_done(flip)).collect();
        self.write_over(tx, kind, flips, &rest).await
    }

    /// Writes the flips whose edges have rows, if these rows are older.
    async fn write_over(
        &mut self,
        tx: &mut Tx,
        kind: EdgeKind,
        flips: &'a [Flip],
        rest: &[&'a Flip],
    ) -> StoreResult<()> {
        let rows = import::edges::lock_edges(tx, kind, rest).await?;
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
        let switched = counting::edges::switch_on(tx, kind, &on, self.told).await?;
        self.take(flips, &switched);
        let switched = counting::edges::switch_off(tx, kind, &off).await?;
        self.take(flips, &switched);
        self.written.rows += counting::edges::keep_later_times(tx, kind, &same).await?.len() as u64;
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

/// The flip of an edge among the flips of one kind.
fn flip_of(flips: &[Flip], actor: UserId, target: Id) -> Option<&Flip> {
    let place = flips.binary_search_by_key(&(actor, target), edge).ok()?;
    Some(&flips[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(actor: i64, target: i64, owner: i64) -> Flip {
        let id = |raw: i64| Id::try_from(raw).unwrap();
        let (actor, target, owner) = (UserId(id(actor)), id(target), UserId(id(owner)));
        Flip { kind: EdgeKind::NoteLike, actor, target, owner, on: true, at: 10, by: None }
    }

    #[test]
    fn parts_share_no_owner_and_keep_the_order_of_edges() {
        let flips = newest((0..3_000).map(|n| like(1 + n % 60, 1 + n, 100 + n % 7)));
        let cut = chunks(flips.clone(), 2);
        let owners = |chunk: &[Flip]| chunk.iter().map(|flip| flip.owner).collect::<BTreeSet<_>>();
        assert!(cut.len() == 2 && owners(&cut[0]).is_disjoint(&owners(&cut[1])));
        assert!(cut.iter().all(|chunk| chunk.is_sorted_by_key(key) && chunk.len() > 1_200));
        assert_eq!(newest(cut.concat()), flips);
        assert_eq!(chunks(flips.clone(), 1), [flips]);
        let of_five_owners = newest((0..3_000).map(|n| like(1 + n % 60, 1 + n, 100 + n % 5)));
        assert_eq!(chunks(of_five_owners, 7).iter().map(Vec::len).collect::<Vec<_>>(), [600; 5]);
    }

    #[test]
    fn edges_of_one_owner_are_cut() {
        let flips = newest((0..3_000).map(|n| like(1 + n % 60, 1 + n, 100)));
        assert_eq!(chunks(flips.clone(), 2).concat(), flips);
        assert!(chunks(flips, 2).iter().all(|chunk| chunk.len() == 1_500));
        assert!(chunks(Vec::new(), 0).is_empty());
    }

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
