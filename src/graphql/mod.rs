//! The GraphQL schema and how it is executed. Knows no HTTP and no stores.
//!
//! - a domain word names the file of its types, queries and mutations: [`users`], [`notes`], [`comments`], [`commenting`], [`verdicts`],
//!   [`groups`], [`feed`], [`hot`], [`likes`], [`collects`], [`follows`], [`views`], [`posting`], [`inbox`]
//!   (and [`inbox_entries`]), [`coins`], [`moderation`], [`history`]; [`nodes`] finds things by id, [`live`]
//!   holds the subscriptions
//! - [`ids`], [`scalars`], [`pages`]: what all of them speak: global ids, counts, connections;
//!   [`actions`]: what all mutations have in common
//! - [`access`]: who may do what; [`rates`]: what a request counts as
//! - [`viewer`]: who is asking; [`scope`]: what one request knows; [`loaders`]: how it batches its reads;
//!   [`prefetch`]: how a list reads for its whole page at once
//! - [`errors`]: what a client is told; [`nulls`]: what a failed field leaves in the data
//! - [`operation`]: which one of a document is meant, and what the metrics call it
//! - [`fuzzing`]: what holds for any bytes that come from outside
//! - [`parameters`]: what a client sends, over whichever transport; [`documents`]: the documents that need not
//!   be sent, those of a [`manifest`] and those that clients introduced
//! - [`schema`]: the roots; [`guard`]: what a request may cost; [`engine`]: executes requests; [`fanout`]:
//!   subscription events, once for all who asked the same

mod access;
mod actions;
mod coins;
mod collects;
mod commenting;
mod comments;
mod documents;
mod engine;
mod errors;
mod fanout;
mod feed;
mod follows;
pub(crate) mod fuzzing;
mod groups;
mod guard;
mod history;
mod hot;
mod ids;
mod inbox;
mod inbox_entries;
mod likes;
mod live;
mod loaders;
mod manifest;
mod moderation;
mod nodes;
mod notes;
mod nulls;
mod operation;
mod pages;
mod parameters;
mod posting;
mod prefetch;
mod rates;
mod scalars;
mod schema;
mod scope;
mod users;
mod verdicts;
mod viewer;
mod views;

pub use access::{RULES, Rule, Who, counts_as, must_be_moderator};
pub use documents::Documents;
pub use engine::{Engine, Events, Prepared, Rejected};
pub use errors::{ApiError, ApiResult, Code, outcome};
pub use guard::RequestLimits;
pub use ids::public_id;
pub use manifest::{Manifest, ManifestError};
pub use operation::OperationLabel;
pub use parameters::{Fields, Parameters};
pub use schema::sdl;
pub use viewer::{Caller, Viewer};
