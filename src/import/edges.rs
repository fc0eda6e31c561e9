//! The edges of a batch: of each edge the newest line, written unless the row is newer.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    catalogue::{EdgeKind, Flip},
    pipeline::{Moved, Notices},
    primitives::{Id, UserId},
    store::{
        StoreResult,
        sql::{Tx, edges::ChangedEdge},
    },
};

/// Where an imported edge was told to its target's owner, who knows of it: nobody is told of it, also if it is switched
/// off and on again.
const KNOWN_BEFORE: i64 = -1;

/// What the edges of a batch changed.
pub struct EdgeChanges<'a> {
    pub moved: Moved,
    /// Entries of inboxes that lose an edge.
    pub notices: Notices<'a>,
    /// The cached sets of actors whose edges were switched.
    pub sets: BTreeSet<(EdgeKind, UserId)>,
    /// Rows that were written or got another time.
    pub rows: u64,
    /// Flips without a row, because a user was erased.
    pub erased: Vec<&'a Flip>,
}

/// The newest flip of each edge; of equal times the first.
pub fn newest(flips: impl IntoIterator<Item = Flip>) -> Vec<Flip> {
    let mut newest = BTreeMap::<(EdgeKind, UserId, Id), Flip>::new();
    for flip in flips {
        let of_edge = newest.entry((flip.kind, flip.actor, flip.target)).or_insert(flip);
        if flip.at > of_edge.at {
            *of_edge = flip;
        }
    }
    newest.into_values().collect()
}

/// Writes flips, at most one per edge, in the order of their edges.
pub async fn write<'a>(tx: &mut Tx, flips: &'a [Flip]) -> StoreResult<EdgeChanges<'a>> {
    let mut changes = EdgeChanges {
        moved: Moved::default(),
        notices: Notices::at(0),
        sets: BTreeSet::new(),
        rows: 0,
        erased: Vec::new(),
    };
    for of_kind in flips.chunk_by(|one, other| one.kind == other.kind) {
        changes.write_kind(tx, of_kind[0].kind, of_kind).await?;
    }
    Ok(changes)
}

impl<'a> EdgeChanges<'a> {
    async fn write_kind(&mut self, tx: &mut Tx, kind: EdgeKind, flips: &'a [Flip]) -> StoreResult<()> {
        let (on, off): (Vec<&Flip>, Vec<&Flip>) = flips.iter().partition(|flip| flip.on);
        let by_edge: BTreeMap<(UserId, Id), &'a Flip> = flips.iter().map(|flip| (edge(flip), flip)).collect();
        let added = tx.add_on(kind, &on, KNOWN_BEFORE).await?;
        self.take(&added, &by_edge);
        let mut done: BTreeSet<(UserId, Id)> = added.iter().map(|row| (row.actor, row.target)).collect();
        done.extend(tx.record_off(kind, &off).await?);
        self.rows += (done.len() - added.len()) as u64;
        let rest: Vec<&'a Flip> = flips.iter().filter(|flip| !done.contains(&edge(flip))).collect();
        self.write_over(tx, kind, &rest, &by_edge).await
    }

    /// Writes flips whose edges have rows, if these are older.
    async fn write_over(
        &mut self,
        tx: &mut Tx,
        kind: EdgeKind,
        flips: &[&'a Flip],
        by_edge: &BTreeMap<(UserId, Id), &'a Flip>,
    ) -> StoreResult<()> {
        let rows = tx.lock_edges(kind, flips).await?;
        let (mut on, mut off, mut same, mut found) = (Vec::new(), Vec::new(), Vec::new(), BTreeSet::new());
        for row in &rows {
            let Some(flip) = by_edge.get(&(row.actor, row.target)).copied() else { continue };
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
        self.erased.extend(flips.iter().filter(|flip| !found.contains(&edge(flip))));
        let switched = tx.switch_on(kind, &on, KNOWN_BEFORE).await?;
        self.take(&switched, by_edge);
        let switched = tx.switch_off(kind, &off).await?;
        self.take(&switched, by_edge);
        self.rows += tx.keep_later_times(kind, &same).await?.len() as u64;
        Ok(())
    }

    fn take(&mut self, rows: &[ChangedEdge], by_edge: &BTreeMap<(UserId, Id), &'a Flip>) {
        self.rows += rows.len() as u64;
        for row in rows {
            let Some(flip) = by_edge.get(&(row.actor, row.target)).copied() else { continue };
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
