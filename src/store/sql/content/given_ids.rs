//! Which ids were given.
//!
//! Ids come from sequences, and a sequence moves before the transaction that takes an id commits. So nobody can
//! have learnt an id beyond a sequence when a look at it begins: for those who asked before, it is
//! nothing's, and no other store need be asked. That is not kept, because the id may be given in the next
//! moment. Kept are the greatest ids that were seen: they spare looks, and decide nothing.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering::Relaxed},
    },
};

use crate::{
    StoreError, StoreResult,
    coalescer::Coalescer,
    sql::{Db, counting::edges::entity_table, from_catalogue},
};
use plaudit_catalogue::{Entity, EntityKind, primitives::Id};

/// By kind; 0 for none.
type Greatest = [i64; EntityKind::ALL.len()];

/// Clones share what they have seen, and their looks.
#[derive(Clone)]
pub struct GivenIds {
    seen: Arc<[AtomicI64; EntityKind::ALL.len()]>,
    looks: Coalescer<(), Greatest>,
    db: Db,
}

impl GivenIds {
    pub fn new(db: Db) -> Self {
        Self { seen: Arc::default(), looks: Coalescer::with(db.row_turns()), db }
    }

    /// Something has this id.
    pub fn saw(&self, Entity { kind, id }: Entity) {
        let seen = &self.seen[kind as usize];
        if seen.load(Relaxed) < id.get() {
            seen.fetch_max(id.get(), Relaxed);
        }
    }

    /// Leaves out ids that nothing has. One look at all sequences if any of them is beyond those that were seen; it is
    /// shared with all who ask before it begins.
    pub async fn leave_given<I: Copy + Into<Entity>>(&self, ids: &mut Vec<I>) {
        let seen: Greatest = self.seen.each_ref().map(|seen| seen.load(Relaxed));
        if ids.iter().all(|id| is_given(&seen, (*id).into())) {
            return;
        }
        match self.look().await {
            Ok(greatest) => ids.retain(|id| is_given(&greatest, (*id).into())),
            // Redis may have what was created before PostgreSQL went away.
            Err(error) => tracing::debug!(%error, "cannot look which ids were given"),
        }
    }

    async fn look(&self) -> StoreResult<Greatest> {
        let db = self.db.clone();
        let read = |_| async move { Ok(HashMap::from([((), greatest_ids(&db).await?)])) };
        let greatest = self.looks.get(&[()], read).await?.remove(&());
        let greatest = greatest.ok_or_else(|| StoreError::Unexpected("no sequence was read".into()))?;
        for (seen, greatest) in self.seen.iter().zip(greatest) {
            seen.fetch_max(greatest, Relaxed);
        }
        Ok(greatest)
    }
}

const fn is_given(greatest: &Greatest, Entity { kind, id }: Entity) -> bool {
    id.get() <= greatest[kind as usize]
}

/// The last values of the sequences, which do not wait for commits. A sequence that was restarted has none until it
/// gives its next id, and until then no transaction can have an id that is not committed.
async fn greatest_ids(db: &Db) -> StoreResult<Greatest> {
    let of = |kind: &EntityKind| {
        let table = entity_table(*kind);
        let last = format!("pg_sequence_last_value(pg_get_serial_sequence('{table}', 'id')::regclass)");
        format!("coalesce({last}, (SELECT max(id) FROM {table}), 0)")
    };
    let all: Vec<String> = EntityKind::ALL.iter().map(of).collect();
    let query = sqlx::query_scalar(from_catalogue(format!("SELECT ARRAY[{}]", all.join(", "))));
    let read: Vec<i64> = db.run(query.fetch_one(&db.pool())).await?;
    read.try_into().map_err(|_| StoreError::Unexpected("another number of sequences".into()))
}

/// The ids that something has, also if it was removed.
pub async fn existing(db: &Db, kind: EntityKind, ids: &[Id]) -> StoreResult<Vec<Id>> {
    ids_where(db, kind, ids, "true").await
}

/// The ids whose entity was removed: nothing brings it back.
pub async fn removed(db: &Db, kind: EntityKind, ids: &[Id]) -> StoreResult<Vec<Id>> {
    let is_shown = if kind == EntityKind::Comment { "is_placeholder" } else { "false" };
    ids_where(db, kind, ids, &format!("removed_at IS NOT NULL AND NOT {is_shown}")).await
}

async fn ids_where(db: &Db, kind: EntityKind, ids: &[Id], condition: &str) -> StoreResult<Vec<Id>> {
    let text = format!("SELECT id FROM {} WHERE id = ANY($1) AND {condition}", entity_table(kind));
    let query = sqlx::query_scalar(from_catalogue(text)).bind(crate::sql::counting::counts::raw(ids));
    db.run(query.fetch_all(&db.pool())).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::primitives::NoteId;

    fn note(id: i64) -> NoteId {
        NoteId(Id::try_from(id).unwrap())
    }

    #[tokio::test]
    async fn ids_that_were_seen_need_no_look_and_without_postgresql_none_is_left_out() {
        let ids = GivenIds::new(Db::for_requests("postgres://127.0.0.1:1/nowhere", 1).unwrap());
        ids.saw(note(7).into());
        ids.saw(note(3).into());
        for wanted in [vec![note(1), note(7)], vec![note(7), note(8)]] {
            let mut left = wanted.clone();
            ids.leave_given(&mut left).await;
            assert_eq!(left, wanted);
        }
    }

    #[test]
    fn an_id_is_compared_with_the_greatest_of_its_kind() {
        let mut greatest = Greatest::default();
        greatest[EntityKind::Note as usize] = 7;
        let given = |kind, id| is_given(&greatest, Entity::new(kind, Id::try_from(id).unwrap()));
        assert!(given(EntityKind::Note, 7) && !given(EntityKind::Note, 8) && !given(EntityKind::User, 1));
    }
}
