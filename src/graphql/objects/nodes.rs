//! `Node`: any object by its global id.

use crate::definition::{
    resolve::{Resolve, known},
    values::Scalar,
};

/// The description of `id`.
pub const ID: &str = "Opaque and unique among all objects.";

/// The global id.
pub const fn id() -> Resolve {
    known(|of| Ok(Scalar::Id(of.entity)))
}
