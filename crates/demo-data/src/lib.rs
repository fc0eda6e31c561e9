//! Demo data: invents users, groups, notes, comments and what people do with them, so that an empty database
//! reads like a real app. Pure and deterministic: equal size and time give equal data. Writing it is the
//! server's part.
//!
//! - `data`: all of it; `people`, `groups`, `notes`, `comments`, `graph` (follows, likes, collects, messages),
//!   `coins`: its parts
//! - `history`: when things happened; `chances`: how unequally they are spread
//! - `library`: the words, read from `words/`; `names`, `text`, `deck`: how names and sentences are made of them

mod chances;
mod coins;
mod comments;
mod data;
mod deck;
mod graph;
mod groups;
mod history;
mod library;
mod names;
mod notes;
mod people;
mod text;

pub use coins::LedgerLine;
pub use comments::DemoComment;
pub use data::{DemoData, SeedSize};
pub use graph::DemoEdge;
pub use groups::DemoGroup;
pub use history::{EpochMillis, STRETCHES, Timeline};
pub use notes::DemoNote;
pub use people::Person;
