//! Automatic moderation: judges a comment before it is displayed.
//!
//! - `moderator`: the moderator selected by the settings; `settings`: parameters of each kind
//! - `judgement`: submission and result
//! - `blocklist`: a list of words; `entry`: a line of it; `look`: text normalised by its appearance
//! - `http`: a language model behind an OpenAI-compatible endpoint
//! - `error`: errors of creating a moderator
//!
//! Keeps no state of comments: the caller schedules judgements and their retries.

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
