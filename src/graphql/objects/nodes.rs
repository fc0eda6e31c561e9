//! `Node`: any object by its global id.

use crate::graphql::{
    definition::{
        types::{Resolve, known},
        values::Scalar,
    },
    request::ids::global_id,
};

/// The description of `id`.
pub const ID: &str = "Opaque and unique among all objects.";

/// The global id.
pub const fn id() -> Resolve {
    known(|of| Ok(Scalar::Text(global_id(of.entity).0.into())))
}
