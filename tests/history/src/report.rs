//! What a check found, to be read by a person at night.

use std::fmt;

use crate::history::History;

/// Lines of a violation that are printed.
const MOST_LINES: usize = 30;

/// Result of a check, and how much it looked at.
#[derive(Clone, Default, Debug)]
pub struct Report {
    pub violations: Vec<Violation>,
    /// Calls, reads and observations.
    pub operations: usize,
    pub edges: usize,
    /// Entities whose counts the search has decided about.
    pub explained: usize,
    /// Entities for which the search gave up. Their counts hold the limits, which are necessary but not sufficient.
    pub undecided: usize,
}

/// A promise that was broken, and the part of the history that shows it.
#[derive(Clone, Debug)]
pub struct Violation {
    pub class: Class,
    pub subject: String,
    pub explanation: String,
    /// The shortest part of the history that was found to show it.
    pub slice: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// No order of an edge's calls explains their answers, its reads and its row.
    NotLinearizable,
    /// Calls with the same key have different results.
    KeyAnswersDiffer,
    /// An observer was shown an older version after a newer one.
    VersionFell,
    /// A version of an entity was shown with different counts.
    VersionDiffers,
    /// More was counted than was switched on.
    CountedTooMuch,
    /// A count fell within its epoch although nothing was switched off.
    TakenBack,
    /// No order of the calls explains the counts.
    Unexplained,
    /// At rest, a total is not the number of rows.
    EndDiffers,
    /// At rest, an observer's last counts are not the totals.
    LastShownDiffers,
}

impl Report {
    pub fn of(history: &History) -> Self {
        let operations = history.calls.len() + history.own_states.len() + history.shown.len();
        Self { operations, ..Self::default() }
    }

    pub(crate) fn add(&mut self, class: Class, subject: String, explanation: String, slice: Vec<String>) {
        self.violations.push(Violation { class, subject, explanation, slice });
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}: {}", self.class, self.subject, self.explanation)?;
        let left_out = self.slice.len().saturating_sub(MOST_LINES);
        if left_out > 0 {
            write!(f, "\n    ({left_out} earlier lines are left out)")?;
        }
        self.slice[left_out..].iter().try_for_each(|line| write!(f, "\n    {line}"))
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { violations, operations, edges, explained, undecided } = self;
        write!(f, "{operations} operations on {edges} edges, {explained} entities explained, {undecided} ")?;
        write!(f, "undecided: {} violations", violations.len())?;
        violations.iter().try_for_each(|violation| write!(f, "\n  {violation}"))
    }
}
