//! Catalogue of entities, counters and edges: which counters exist, and which edges move them. To add a counter: a line
//! here, a column in its `…_counts` table, a GraphQL field. To add an edge: a line here, a table, a mutation.
//!
//! Also what all crates share: [`primitives`], entries of the [`event_log`], and [`settings`].

mod carried;
mod columns;
mod counters;
mod edges;
pub mod event_log;
mod events;
mod heat;
mod inbox;
pub mod primitives;
mod ranking;
mod rows;
pub mod settings;

pub use crate::primitives::UnixMillis;
pub use carried::{CARRIED, MAX_CARRIED, carried_counter, counter_of_owner, may_carry};
pub use counters::{
    Counter, Counts, Deltas, Entity, EntityKind, MAX_COUNTERS, MovedTotals, ParseEntityError,
};
pub use edges::{EdgeKind, Flip, Move, Party};
pub use events::EventKind;
pub use heat::{Bucket, HotWindow, Span, WEIGHTS};
pub use inbox::InboxKind;
pub use ranking::{Ranking, RankingId};
pub use rows::{COMMENTS, GROUPS, NOTES, RATINGS, RowMove, Rows, entity_table, is_shown, owner_column};
