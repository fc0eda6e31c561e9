//! Tests that call functions of the crates, on real stores: what no request does.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, as it should")]

mod deaf;
mod event_order;
mod members;
mod overflow;
mod removals;
mod rows;
mod transactions;
mod views;
