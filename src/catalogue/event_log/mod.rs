//! Entries of the event log: their text form, and the sums of a batch. The store appends and reads the log itself.

mod batch;
mod entry;
#[doc(hidden)]
pub mod fuzzing;
#[cfg(test)]
mod golden;
mod heat;

pub use batch::{sum, sum_of};
pub use entry::{Entry, EntryDigest, Event, GENESIS};
pub use heat::{Heat, heat_of};
