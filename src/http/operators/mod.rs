//! What operators read: probes, metrics, state.

pub(super) mod admin;
pub(super) mod exposition;
pub(super) mod health;
pub(super) mod observe;
