//! Seeding: fills an empty database with the data of [`plaudit_demo_data`], in one transaction.

mod progress;
mod write;

pub use progress::progress_bar;
pub use write::seed;
