//! The GraphQL schema and how it is executed. Knows no HTTP and no stores.
//!
//! Each folder uses only those below it:
//!
//! | folder | what it is |
//! |---|---|
//! | [`engine`] | prepares and executes requests |
//! | [`costs`] | what the guard has to know about this schema |
//! | [`schema`] | the roots of the schema, and its text |
//! | [`live`] | subscriptions, executed once for all that select the same |
//! | [`queries`], [`mutations`] | the root fields, by domain word |
//! | [`objects`] | the types that clients read |
//! | [`reading`] | scope, loaders, prefetch, pages, access guards |
//! | [`nulls`] | what a failed field leaves in the data |
//! | [`request`] | parameters, documents, ids, scalars, viewer, access table, rates |
//! | [`guard`] | what a request may cost |
//! | [`errors`] | error codes and messages |
//!
//! [`fuzzing`] holds what must be true for any bytes from outside.

mod costs;
mod engine;
mod errors;
pub(crate) mod fuzzing;
mod guard;
mod live;
mod mutations;
mod nulls;
mod objects;
mod queries;
mod reading;
mod request;
mod schema;

pub use engine::{
    execute::{Engine, Events},
    prepare::Prepared,
};
pub use errors::{ApiError, ApiResult, Code, outcome};
pub use request::{
    access::{RULES, Rule, Who, counts_as, must_be_moderator},
    documents::Documents,
    error::Rejection,
    ids::public_id,
    manifest::{Manifest, ManifestError},
    operation::OperationLabel,
    parameters::{Fields, Parameters},
    viewer::{Caller, Viewer},
};
pub use schema::sdl;
