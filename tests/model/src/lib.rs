//! Models of the rules that keep Plaudit's counts exact, small enough to explore every order of steps. `counters`
//! models an event from the log to counters, rows and clients; `membership` models whether an edge is on; `keeping`
//! models what a process may show of what it has read. docs/internals explains the rules; each guard names the script
//! or file that has it in Plaudit.
//!
//! A model defines the possible steps; [`check`] visits all reachable states. With all guards, no property may fail;
//! without any one guard, a property must fail.

pub mod check;
pub mod counters;
pub mod keeping;
pub mod membership;
pub mod replies;
pub mod sharing;
mod variants;
