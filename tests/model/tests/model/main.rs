//! The models, explored to their ends.

mod counters;
mod membership;
mod replies;
mod sharing;
