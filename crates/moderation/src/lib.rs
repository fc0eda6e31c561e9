//! Automatic moderation: decides about a comment before it is displayed.
//!
//! - `moderator`: the moderator selected by the settings; `settings`: parameters of each kind
//! - `judgement`: submission and result
//! - `blocklist`: a list of words; `entry`: a line of it; `normalised_text`: text normalised by its appearance
//! - `http`: a language model behind an OpenAI-compatible endpoint
//! - `error`: errors of creating a moderator
//!
//! It has no state of comments: the caller schedules judgements and their retries.

mod blocklist;
mod entry;
mod error;
mod http;
mod judgement;
mod moderator;
mod normalised_text;
mod settings;

pub use error::ModeratorError;
pub use judgement::{Failure, Judgement, Submission};
pub use moderator::Moderator;
pub use settings::{ApiKey, BadApiKey, BadEndpoint, Endpoint, HttpSettings, ModeratorSettings};
