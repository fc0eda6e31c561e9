//! Models of the rules that make Plaudit's counts exact, small enough to be explored in every order of
//! steps. `counters` is the way of an event from the log to counters, rows and clients; `membership` is the
//! question whether an edge is on. docs/internals explains the rules; each guard here names the script or
//! file that has it in Plaudit.
//!
//! A model says what may happen next; [`check`] goes through all states that can be reached. Tests run it
//! with faults and find nothing, and once more without each guard and must find something.

pub mod check;
pub mod counters;
pub mod membership;
mod variants;
