//! Seeding: fills an empty database with the data of [`plaudit_demo_data`], in one transaction.

mod progress;
mod summary;
mod write;

pub use progress::progress_bar;
pub use summary::{SeedOutcome, Seeded};
pub use write::seed;
