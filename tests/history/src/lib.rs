//! Checker of histories: whether what clients called, and what they were answered and shown, can be explained by a
//! service that keeps its promises. docs/internals/history.md says what is checked, and what is not.
//!
//! A client records a [`History`]; [`check`] compares it with itself and with the [`Ending`], the state at rest.
//!
//! - [`edges`]: the calls of each edge are linearizable;
//! - [`versions`]: versions never fall for an observer, and each has one set of counts;
//! - [`counts`]: each count is explained by the calls, and nothing that was shown is taken back;
//! - [`ending`]: the end equals the rows.

pub mod counts;
pub mod edges;
pub mod ending;
mod explanation;
pub mod history;
pub mod report;
pub mod versions;

use history::{Count, Edge, Ending, History};
use report::Report;

/// What the checker must know of the service.
pub trait Rules {
    /// The counts that an edge adds one to while it is on.
    fn moves(&self, edge: Edge) -> Vec<Count>;

    /// The log of the actor's switches. Counts follow each log in its order. Where it is not known, an actor has an own
    /// log, which assumes less.
    fn source(&self, actor: i64) -> u64 {
        actor.unsigned_abs()
    }
}

/// Checks a history, and whether it leads to this end.
pub fn check(history: &History, ending: &Ending, rules: &impl Rules) -> Report {
    let mut report = Report::of(history);
    let operations = edges::operations(history, &mut report);
    edges::check(&operations, ending, &mut report);
    let shown = versions::check(history, &mut report);
    counts::check(history, &operations, &shown, ending, rules, &mut report);
    ending::check(history, ending, rules, &mut report);
    report
}
