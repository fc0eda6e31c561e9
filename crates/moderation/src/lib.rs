//! Judging a comment before it is displayed.
//!
//! - `moderator`: the one that the settings choose; `settings`: what each of them needs
//! - `judgement`: what is submitted, and what can come of it
//! - `blocklist`: a list of words; `entry`: a line of it; `look`: text as a reader sees it
//! - `http`: a language model behind an OpenAI-compatible endpoint
//! - `error`: why there is no moderator
//!
//! Nothing is kept here: who waits for a judgement, and when it is tried again, is the caller's to know.

mod blocklist;
mod entry;
mod error;
mod http;
mod judgement;
mod look;
mod moderator;
mod settings;

pub use error::ModeratorError;
pub use judgement::{Failure, Judgement, Submission};
pub use moderator::Moderator;
pub use settings::{ApiKey, BadApiKey, BadEndpoint, Endpoint, HttpSettings, ModeratorSettings};
