//! The logs of events: reading, folding, trimming, and recovering them.

pub mod batches;
pub mod positions;
pub mod reading;
pub mod recovery;
pub mod reshard;
pub mod state;
pub mod tails;
pub mod views;
