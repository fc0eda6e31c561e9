//! The models, explored to their ends.

mod counters;
mod keeping;
mod membership;
mod replies;
mod sharing;
