//! The GraphQL schema and how it is executed. Knows no HTTP and no stores.
//!
//! Each folder uses only those below it:
//!
//! | folder | what it is |
//! |---|---|
//! | [`engine`] | prepares and executes requests |
//! | [`plan`] | answers a validated document, level by level |
//! | [`schema`] | all types, for plans and for async-graphql, and their text |
//! | [`live`] | subscriptions, executed once for all that select the same |
//! | [`queries`], [`mutations`] | the root fields, by domain word |
//! | [`objects`] | the types that clients read |
//! | [`guard`] | reads a document, and limits what a request may cost |
//! | [`definition`] | how types and fields are declared: values, arguments, pages |
//! | [`reading`] | facts, scope, loaders, access guards |
//! | [`request`] | parameters, documents, ids, scalars, viewer, who may use a field |
//! | [`errors`] | error codes and messages |
//!
//! [`fuzzing`]: properties for any bytes from clients; [`oracle`]: parts for an executor of tests.

mod definition;
mod engine;
mod errors;
#[doc(hidden)]
pub mod fuzzing;
mod guard;
mod live;
mod mutations;
mod objects;
#[doc(hidden)]
pub mod oracle;
mod plan;
mod queries;
mod reading;
mod request;
mod schema;

pub use engine::{
    execute::{Engine, Executed},
    label::OperationLabel,
    prepare::Prepared,
    subscribe::Messages,
};
pub use errors::{ApiError, ApiResult, Code, Rejection, outcome};

pub use request::{
    access::{Who, must_be_moderator},
    documents::Documents,
    manifest::{Manifest, ManifestError},
    parameters::{Fields, Parameters},
    viewer::{Caller, Viewer},
};
pub use schema::{federation_sdl, rights, sdl};
