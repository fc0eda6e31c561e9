//! The log of actions: what an entry says and how a batch of entries sums up.
//! Writing and reading the log itself is the store's work.

mod batch;
mod entry;
pub(crate) mod fuzzing;
mod heat;

pub use batch::{EntityDelta, Moves, sum, sum_of};
pub use entry::{Entry, Event, GENESIS};
pub use heat::{Heat, heat_of};
