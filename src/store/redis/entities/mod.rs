//! What all processes share in Redis beside counts and edges.

pub(super) mod cache;
pub(super) mod rankings;
pub(super) mod rates;
