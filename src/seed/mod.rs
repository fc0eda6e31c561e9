//! Demo data: fills an empty database with users, notes, comments, likes and follows that read like a real
//! app. First everything is thought up (`demo` and what it uses: pure, the same every time), then written
//! (`write`).

mod chances;
mod comments;
mod deck;
mod demo;
mod graph;
mod history;
mod library;
mod names;
mod notes;
mod people;
mod progress;
mod text;
mod write;

pub use demo::SeedSize;
pub use progress::progress_bar;
pub use write::{SeedOutcome, Seeded, seed};
