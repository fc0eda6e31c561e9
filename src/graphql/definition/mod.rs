//! How the schema is declared.
//!
//! - [`types`]: types and their fields, one line per field
//! - [`values`]: values of fields, objects and pages; [`arguments`]
//! - [`pages`]: lists, their pages and cursors
//! - [`watch`]: what subscriptions watch

pub mod arguments;
pub mod interfaces;
pub mod pages;
pub mod types;
pub mod values;
pub mod watch;
