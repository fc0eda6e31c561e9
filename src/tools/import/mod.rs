//! Imports: an app's past, from JSON lines into PostgreSQL, beside a live server. Each transaction of a
//! batch of lines has its totals and invalidations; every line may be read again without harm, and the last
//! transaction of the batch moves the position.
//!
//! A line never wins against what is newer: of an edge or a rating, the later time stays. What exists stays as it is. A
//! dry run reads the same lines, and reports which ones it would reject and which rows differ.

mod barrier;
mod batch_end;
mod batch_writer;
mod batches;
mod carried;
mod comments;
mod dry_run;
pub(crate) mod edges;
mod entities;
mod input;
mod line;
mod names;
mod pace;
mod parse;
mod ratings;
mod rejects;
mod run;
mod settle;
mod write;
mod zst;

pub use barrier::NotPersisted;
pub use dry_run::{Compared, Comparison, DryRun};
pub use input::Input;
pub use pace::Rate;
pub use run::{ImportError, Importer, Progress, Summary};
