//! What the pages of all backfills share.

use plaudit_catalogue::{Deltas, EdgeKind, Entity, primitives::UserId};

/// Rows of one page: batches of the persister wait for its locks.
pub(super) const PAGE: usize = 500;

/// Effects of a page.
#[derive(Default)]
pub(super) struct PageEffects {
    pub moved: Deltas,
    /// Entities whose texts changed.
    pub changed: Vec<Entity>,
    /// Cached sets whose rows changed.
    pub sets: Vec<(EdgeKind, UserId)>,
}
