//! Demo data: generates users, groups, notes, comments and their relations, so that an empty database looks
//! like the database of a real app. Pure and deterministic: equal size and time give equal data. The server writes it.
//!
//! - `data`: the complete data; `people`, `groups`, `notes`, `comments`, `graph` (follows, likes, collects, messages),
//!   `coins`: its parts
//! - `timeline`: times of events; `chances`: skewed random draws
//! - `library`: the words, read from `words/`; `names`, `text`, `deck`: names and sentences made of them

mod chances;
mod coins;
mod comments;
mod data;
mod deck;
mod graph;
mod groups;
mod library;
mod names;
mod notes;
mod people;
mod text;
mod timeline;

pub use coins::LedgerLine;
pub use comments::DemoComment;
pub use data::{DemoData, SeedSize};
pub use graph::DemoEdge;
pub use groups::DemoGroup;
pub use notes::DemoNote;
pub use people::Person;
pub use timeline::{EpochMillis, Timeline};
