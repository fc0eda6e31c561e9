//! Lists along edges: what a user likes, collects, follows and is a member of, exact right after a flip;
//! and who likes a note, follows a user, is a member of a group, as far as it is persisted.

use std::cmp::Reverse;

use super::{DomainResult, Plaudit};
use crate::{
    catalogue::EdgeKind,
    primitives::{Id, Moment, PageRequest, Slice, UserId},
    store::{
        StoreError,
        redis::{Pending, PendingFlip},
    },
};

/// Tries before a request gives up on a shard whose state keeps moving.
const TRIES: u32 = 20;

impl Plaudit {
    /// What the actor has switched on, last first: rows, and pending flips which are not rows yet.
    pub async fn targets_of(
        &self,
        actor: UserId,
        kind: EdgeKind,
        page: &PageRequest<Moment>,
    ) -> DomainResult<Slice<Moment>> {
        let (redis, db) = (&self.inner.redis, &self.inner.db);
        let shard = redis.shard_of(actor.0);
        for _ in 0..TRIES {
            let pending = redis.pending_flips(actor, kind).await?;
            let except: Vec<Id> = pending.flips.iter().map(|flip| flip.target).collect();
            let (rows, persisted) = db.targets_of(shard, kind, actor, &except, page).await?;
            // What was cleaned before the flips were read must be in the rows.
            if persisted >= pending.retired {
                return Ok(page.slice(merge(rows, &pending, page)));
            }
        }
        Err(StoreError::Contended { tries: TRIES }.into())
    }

    /// Who has switched the edge to the target on, last first. Hidden users are not listed.
    pub async fn actors_of(
        &self,
        kind: EdgeKind,
        target: Id,
        page: &PageRequest<Moment>,
    ) -> DomainResult<Slice<Moment>> {
        Ok(self.inner.db.actors_of(kind, target, page).await?)
    }
}

/// Rows without pending flips, and the pending flips that are on, in the list's order.
fn merge(mut rows: Vec<Moment>, pending: &Pending, page: &PageRequest<Moment>) -> Vec<Moment> {
    let before = page.before();
    let place = |flip: &PendingFlip| Moment { micros: flip.at * 1_000, id: flip.target };
    let switched_on = pending.flips.iter().filter(|flip| flip.is_on).map(place);
    rows.extend(switched_on.filter(|place| *place < before));
    rows.sort_unstable_by_key(|place| Reverse(*place));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(raw: i64) -> Id {
        Id::try_from(raw).unwrap()
    }

    fn at(millis: i64, target: i64) -> Moment {
        Moment { micros: millis * 1_000, id: id(target) }
    }

    #[test]
    fn pending_flips_stand_at_their_time_among_the_rows() {
        let flip = |at, target, is_on| PendingFlip { target: id(target), is_on, at };
        let flips = vec![flip(30, 3, true), flip(15, 4, true), flip(40, 5, false)];
        let pending = Pending { flips, retired: Default::default() };
        let rows = vec![at(20, 1), at(10, 2)];
        let first = PageRequest { first: 10, after: None };
        assert_eq!(merge(rows.clone(), &pending, &first), [at(30, 3), at(20, 1), at(15, 4), at(10, 2)]);
        // Behind the cursor only what is older.
        let next = PageRequest { first: 10, after: Some(at(20, 1)) };
        assert_eq!(merge(vec![at(10, 2)], &pending, &next), [at(15, 4), at(10, 2)]);
    }
}
