//! Entries of the event log: their text form, and the sums of a batch. The store appends and reads the log itself.

mod batch;
mod entry;
pub(crate) mod fuzzing;
mod heat;

pub use batch::{sum, sum_of};
pub use entry::{Entry, Event, GENESIS};
pub use heat::{Heat, heat_of};
