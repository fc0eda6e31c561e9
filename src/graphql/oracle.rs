//! What an executor of its own needs, for the comparison of plans with the algorithm of the specification
//! (`tests/oracle`).

pub use crate::{
    definition::{
        arguments::Arguments,
        resolve::{Call, Resolve},
        types::{Field, ObjectType, named},
        values::{Object, Output, Presence, Scalar},
    },
    errors::{ApiError, ApiResult},
    reading::{
        facts::{Facts, Reads},
        guards,
        reader::FactsReader,
        scope::Scope,
        view::View,
    },
    request::ids::{global_id, parse_any},
    schema::{coerced, get as schema, with_canonical_ids},
};
