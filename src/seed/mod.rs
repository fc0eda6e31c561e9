//! Demo data: fills an empty database with users, groups, notes, comments and what people do with them, so
//! that it reads like a real app. First everything is thought up (`demo` and what it uses: pure, the same
//! every time), then written (`write`).

mod chances;
mod coins;
mod comments;
mod deck;
mod demo;
mod graph;
mod groups;
mod history;
mod library;
mod names;
mod notes;
mod people;
mod progress;
mod summary;
mod text;
mod write;

pub use demo::SeedSize;
pub use progress::progress_bar;
pub use summary::{SeedOutcome, Seeded};
pub use write::seed;
