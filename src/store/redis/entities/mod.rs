//! What all processes share in Redis beside counts and edges.

pub mod cache;
pub mod rankings;
pub mod rates;
