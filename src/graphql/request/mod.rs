//! Requests and their senders.
//!
//! - [`parameters`]: a request as it was sent; [`documents`]: documents by their hash or name, from the
//!   [`manifest`] and those that clients registered
//! - [`viewer`]: the caller; [`access`]: who may use a field
//! - [`ids`], [`scalars`]: global ids, counts, versions and times as clients write them

pub mod access;
pub mod documents;
pub mod ids;
pub mod manifest;
pub mod parameters;
pub mod scalars;
pub mod viewer;
