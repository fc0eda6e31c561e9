//! Whatever crashes, and wherever: nothing that was acknowledged is lost, and nothing is counted twice.
//!
//! A schedule is one number. It decides what users do, what breaks, and when. At the end everything must agree:
//! see [`check`]. A schedule that fails prints its number; `SEED=<number> cargo test --test faults <name>` runs
//! that one alone.
//!
//! - [`in_process`]: two nodes within this process, killed and stalled at the points of
//!   `primitives/fault.rs`, on a real Redis and PostgreSQL;
//! - [`processes`]: two servers, a Redis and a PostgreSQL, killed with `kill -9`;
//! - [`soak`]: as many schedules as there is time for.
//!
//! These tests have a program of their own because fail points are the same for a whole process.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, as it should")]

#[expect(dead_code, unused_imports, reason = "the helpers of all tests; these need some")]
#[path = "../support/mod.rs"]
mod support;

mod blows;
mod check;
mod in_process;
mod load;
mod node;
mod plan;
mod processes;
mod seen;
mod soak;
mod world;

/// The schedules to run: the one that is asked for, or `count` from `first` on.
fn seeds(first: u64, count: u64) -> Vec<u64> {
    match std::env::var("SEED") {
        Ok(seed) => vec![seed.parse().expect("SEED is a number")],
        Err(_) => (first..first + count).collect(),
    }
}
