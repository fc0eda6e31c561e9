//! The GraphQL schema and how it is executed. Knows no HTTP and no stores.
//!
//! - a domain word names the file of its types, queries and mutations: [`users`], [`notes`], [`comments`],
//!   [`feed`], [`hot`], [`likes`], [`follows`]; [`nodes`] finds things by id, [`live`] holds the subscriptions
//! - [`ids`], [`scalars`], [`pages`]: what all of them speak: global ids, counts, connections
//! - [`viewer`]: who is asking; [`scope`]: what one request knows; [`loaders`]: how it batches its reads;
//!   [`prefetch`]: how a list reads for its whole page at once
//! - [`errors`]: what a client is told; [`nulls`]: what a failed field leaves in the data
//! - [`schema`]: the roots and the limits; [`engine`]: executes requests

mod comments;
mod engine;
mod errors;
mod feed;
mod follows;
mod hot;
mod ids;
mod likes;
mod live;
mod loaders;
mod nodes;
mod notes;
mod nulls;
mod pages;
mod prefetch;
mod scalars;
mod schema;
mod scope;
mod users;
mod viewer;

pub use engine::Engine;
pub use errors::{ApiError, ApiResult, Code};
pub use schema::sdl;
pub use viewer::Viewer;
