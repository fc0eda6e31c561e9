//! Requests and their senders.
//!
//! - [`parameters`]: a request as it was sent; [`documents`]: documents by their hash or name, those of the
//!   [`manifest`] and those that clients registered; [`operation`]: which operation of a document is executed
//! - [`viewer`]: the caller; [`access`]: rights; [`rates`]: the cost of a request for the rate limits
//! - [`ids`], [`scalars`]: global ids, counts, versions and times as clients write them
//! - [`error`]: why a request is refused

pub mod access;
pub mod documents;
pub mod error;
pub mod ids;
pub mod manifest;
pub mod operation;
pub mod parameters;
pub mod rates;
pub mod scalars;
pub mod viewer;
