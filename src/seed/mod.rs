//! Fills an empty database with demo data, in one transaction. What is written comes from
//! [`plaudit_demo_data`].

mod progress;
mod summary;
mod write;

pub use progress::progress_bar;
pub use summary::{SeedOutcome, Seeded};
pub use write::seed;
