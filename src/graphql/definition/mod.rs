//! How the schema is declared.
//!
//! - [`types`]: types and their fields, one line per field; [`resolve`]: how fields get their values
//! - [`schema`]: all types by their names; [`list_size`]: how many items a list may have
//! - [`values`]: values of fields, objects and pages; [`arguments`]
//! - [`connections`]: their types; [`pages`]: lists, their pages and cursors
//! - [`watch`]: what subscriptions watch

pub mod arguments;
pub mod connections;
pub mod interfaces;
pub mod list_size;
pub mod pages;
pub mod resolve;
pub mod schema;
pub mod types;
pub mod values;
pub mod watch;
