//! What is counted: edges and their activity, totals, what they carry, recounts and repairs.

pub mod activity;
pub mod backfills;
pub mod carried;
pub mod counts;
pub mod dead;
pub mod edges;
pub mod explain;
pub mod idempotency;
pub mod invalidations;
pub mod lists;
pub mod rankings;
pub mod ratings;
pub mod recount;
pub mod repairs;
pub mod rows;
pub mod touched;
