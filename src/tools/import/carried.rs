//! The carried numbers of a batch: what totals include that has no rows. Of lines about one number the last counts. A
//! number is set, and its totals move by the difference.

use std::collections::BTreeMap;

use super::{
    line::{CarriedLine, Reason},
    names::Names,
    rejects::removed,
};
use plaudit_catalogue::{Counter, Deltas, Entity, EntityKind, counter_of_owner, primitives::UserId};
use plaudit_store::{
    StoreResult,
    sql::{
        Tx,
        counting::carried::{self, CarriedNumber},
    },
};

/// The numbers that the lines of a batch set.
#[derive(Default)]
pub struct CarriedNumbers<'a> {
    last: BTreeMap<(Entity, Counter), Number<'a>>,
}

struct Number<'a> {
    /// Of the line.
    number: u64,
    line: &'a CarriedLine,
    owner: UserId,
}

/// What setting the numbers of a batch has changed.
#[derive(Default)]
pub struct CarriedChanges {
    /// How totals move.
    pub moved: Deltas,
    pub rows: u64,
    /// Lines whose entities were removed meanwhile, by number.
    pub rejected: Vec<(u64, Reason)>,
}

impl<'a> CarriedNumbers<'a> {
    /// The lines that carry numbers, each with its line number; and why others are rejected.
    pub fn of(
        lines: impl IntoIterator<Item = (u64, &'a CarriedLine)>,
        names: &Names,
    ) -> (Self, Vec<(u64, Reason)>) {
        let (mut last, mut rejected) = (BTreeMap::new(), Vec::new());
        for (number, line) in lines.into_iter().filter(|(_, line)| !names.is_from_here(line)) {
            let kind = line.counter.kind();
            match names.get(kind, &line.of) {
                Ok(of) if !of.is_removed => {
                    let (of, owner) = (Entity::new(kind, of.id), of.owner);
                    last.insert((of, line.counter), Number { number, line, owner });
                }
                Ok(_) => rejected.push((number, removed(kind, &line.of))),
                Err(reason) => rejected.push((number, reason)),
            }
        }
        (Self { last }, rejected)
    }

    pub fn is_empty(&self) -> bool {
        self.last.is_empty()
    }

    /// Entities whose totals may move: lock them before [`Self::write`].
    pub fn affected(&self) -> impl Iterator<Item = Entity> {
        self.last.iter().flat_map(|((entity, _), number)| [*entity, number.owner.into()])
    }

    /// Sets the numbers. The caller moves the totals.
    pub async fn write(&self, tx: &mut Tx) -> StoreResult<CarriedChanges> {
        let mut changes = CarriedChanges::default();
        for kind in [EntityKind::User, EntityKind::Note] {
            self.write_kind(tx, kind, &mut changes).await?;
        }
        Ok(changes)
    }

    async fn write_kind(
        &self,
        tx: &mut Tx,
        kind: EntityKind,
        changes: &mut CarriedChanges,
    ) -> StoreResult<()> {
        let mut left: BTreeMap<(Entity, Counter), &Number<'_>> = self
            .last
            .iter()
            .filter(|((entity, _), _)| entity.kind == kind)
            .map(|(of, number)| (*of, number))
            .collect();
        let number = |((entity, counter), number): (&(Entity, Counter), &&Number<'_>)| CarriedNumber {
            id: entity.id,
            counter: *counter,
            value: number.line.value,
        };
        for set in carried::set_carried(tx, kind, &left.iter().map(number).collect::<Vec<_>>()).await? {
            let entity = Entity::new(kind, set.id);
            left.remove(&(entity, set.counter));
            if set.by == 0 {
                continue;
            }
            changes.rows += 1;
            changes.moved.entry(entity).or_default().add(set.counter, set.by);
            if let Some(received) = counter_of_owner(set.counter).filter(|_| set.is_shown) {
                changes.moved.entry(set.owner.into()).or_default().add(received, set.by);
            }
        }
        changes.rejected.extend(left.values().map(|of| (of.number, removed(kind, &of.line.of))));
        Ok(())
    }
}
