//! Fault injection: after any crash at any point, nothing that was acknowledged is lost, and nothing is counted
//! twice.
//!
//! A schedule is one number, the seed of what users do, what breaks, and when. At the end everything must agree:
//! see [`check`]. A schedule that fails prints its number; `SEED=<number> cargo test --test faults <name>` runs
//! it alone.
//!
//! - [`in_process`]: two nodes within this process, killed and stalled at the points of
//!   `primitives/fault.rs`, on a real Redis and PostgreSQL;
//! - [`processes`]: two servers, a Redis and a PostgreSQL, killed with `kill -9`;
//! - [`soak`]: schedules for as long as wanted.
//!
//! These tests are a program of their own because fail points are global to a process.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, as it should")]

#[expect(dead_code, unused_imports, reason = "the helpers of all tests; these need some")]
#[path = "../support/mod.rs"]
mod support;

mod check;
mod in_process;
mod load;
mod node;
mod observations;
mod plan;
mod processes;
mod soak;
mod store_faults;
mod world;

/// Seeds of the schedules to run: `SEED`, or `count` from `first` on.
fn seeds(first: u64, count: u64) -> Vec<u64> {
    match std::env::var("SEED") {
        Ok(seed) => vec![seed.parse().expect("SEED is a number")],
        Err(_) => (first..first + count).collect(),
    }
}
