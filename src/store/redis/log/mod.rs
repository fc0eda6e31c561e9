//! The logs of events: reading, folding, trimming, and recovering them.

pub(super) mod batches;
pub(super) mod connection;
pub(super) mod positions;
pub(super) mod reading;
pub(super) mod recovery;
pub(super) mod reshard;
pub(super) mod state;
pub(super) mod tails;
pub(super) mod together;
pub(super) mod views;
