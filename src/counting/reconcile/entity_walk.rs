//! Walk over all entities, kind by kind and page by page, by ascending id.

use plaudit_catalogue::{EntityKind, primitives::Id};
use plaudit_store::{
    StoreResult,
    sql::{Db, counting::recount},
};

/// Entities of one page.
pub const PAGE: usize = 250;

/// Position of a walk over all entities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EntityWalk {
    /// The present kind; `None` at the end.
    kind: Option<EntityKind>,
    after: i64,
}

impl Default for EntityWalk {
    fn default() -> Self {
        Self { kind: EntityKind::ALL.first().copied(), after: 0 }
    }
}

impl EntityWalk {
    /// Continues after this position.
    pub const fn behind(kind: EntityKind, after: i64) -> Self {
        Self { kind: Some(kind), after }
    }

    /// The position; `None` at the end.
    pub fn place(&self) -> Option<(EntityKind, i64)> {
        self.kind.map(|kind| (kind, self.after))
    }

    /// The next page, of at most `most` ids of one kind; `None` at the end.
    pub async fn next(&mut self, db: &Db, most: usize) -> StoreResult<Option<(EntityKind, Vec<Id>)>> {
        while let Some(kind) = self.kind {
            let ids = recount::ids_after(db, kind, self.after, most).await?;
            if let Some(last) = ids.last() {
                self.after = last.get();
                return Ok(Some((kind, ids)));
            }
            let kinds = EntityKind::ALL;
            *self = Self { kind: kinds.get(kinds.partition_point(|one| *one <= kind)).copied(), after: 0 };
        }
        Ok(None)
    }
}
