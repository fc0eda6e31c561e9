//! The GraphQL schema and how it is executed. Knows no HTTP and no stores.
//!
//! Each folder uses only those below it:
//!
//! | folder | what it is |
//! |---|---|
//! | [`engine`] | prepares and executes requests: by plans, or by async-graphql |
//! | [`plan`] | answers a validated document, level by level |
//! | [`costs`] | rules of the guard for this schema |
//! | [`schema`] | all types, for plans and for async-graphql, and their text |
//! | [`live`] | subscriptions, executed once for all that select the same |
//! | [`queries`], [`mutations`] | the root fields, by domain word |
//! | [`objects`] | the types that clients read |
//! | [`definition`] | how types and fields are declared: values, arguments, pages |
//! | [`reading`] | facts, scope, loaders, access guards |
//! | [`request`] | parameters, documents, ids, scalars, viewer, access table, rates |
//! | [`guard`] | limits of the cost of a request |
//! | [`errors`] | error codes and messages |
//!
//! [`fuzzing`]: properties for any bytes from clients.

mod costs;
mod definition;
mod engine;
mod errors;
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod live;
mod mutations;
mod objects;
mod plan;
mod queries;
mod reading;
mod request;
mod schema;

pub use engine::{
    execute::{Engine, Executed},
    prepare::Prepared,
    subscribe::Events,
};
pub use errors::{ApiError, ApiResult, Code, outcome};
pub use request::{
    access::{RULES, Rule, Who, counts_as, must_be_moderator},
    documents::Documents,
    error::Rejection,
    manifest::{Manifest, ManifestError},
    operation::OperationLabel,
    parameters::{Fields, Parameters},
    viewer::{Caller, Viewer},
};
pub use schema::{federation_sdl, sdl};
