//! Fault injection: after a crash at any point, no acknowledged action is lost and none is counted twice.
//!
//! A schedule is defined by its seed, from which the actions and the faults follow. At its end [`check`] compares all
//! stores. A failing schedule prints its seed; `SEED=<number> cargo test --test faults <name>` runs it alone.
//!
//! - [`in_process`]: two nodes within this process, killed and stalled at the points of
//!   `src/catalogue/primitives/fault.rs`, on a real Redis and PostgreSQL;
//! - [`imports`]: imports beside these nodes, of edges that users switch meanwhile;
//! - [`processes`]: two servers, a Redis and a PostgreSQL, killed with `kill -9`;
//! - [`cluster`]: four servers, a Redis Cluster and a PostgreSQL with a standby, with failovers, moved slots and more;
//! - [`soak`]: schedules for a given time;
//! - [`losses`]: what a failover or a power cut loses, as a table.
//!
//! Meanwhile a [`consumer`] of the stream of events is killed again and again, and a [`hook`] gets the webhook and often
//! fails; [`stream_check`] compares what they have received.
//!
//! These tests are a separate program, because fail points are global to a process.

#![expect(clippy::unwrap_used, reason = "a panic fails the test, as it should")]

mod check;
mod cluster;
mod consumer;
mod deployment;
mod done;
mod hook;
mod imports;
mod in_process;
mod load;
mod losses;
mod nemesis;
mod node;
mod observations;
mod packet_loss;
mod plan;
mod processes;
mod recorder;
mod requests;
mod servers;
mod soak;
mod store_faults;
mod stream_check;
mod users;
mod watching;
mod world;

/// Seeds of the schedules to run: `SEED`, or `count` from `first` on.
fn seeds(first: u64, count: u64) -> Vec<u64> {
    match std::env::var("SEED") {
        Ok(seed) => vec![seed.parse().expect("SEED is a number")],
        Err(_) => (first..first + count).collect(),
    }
}
