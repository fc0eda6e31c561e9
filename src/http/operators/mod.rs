//! What operators read: probes, metrics, state, hints.

pub(super) mod account;
pub(super) mod admin;
pub(super) mod exposition;
pub(super) mod health;
pub(super) mod hints;
pub(super) mod observe;
