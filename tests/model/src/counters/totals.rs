//! Totals that show which events they include: each event has its own digit, so that double counting is visible.

use super::{
    Counters, Fault,
    state::{Sql, State},
};

const WEIGHTS: [[i16; 4]; 2] = [[1, 4, 16, 4096], [64, 256, 0, 0]];
const DIRECT_CHANGE: i16 = 1024;
const DIGITS: [i16; 7] = [1, 4, 16, 64, 256, DIRECT_CHANGE, 4096];

/// The event of [`Fault::Mismatch`].
pub const MISMATCHED: u8 = 0b1;

/// The sum that these events add to the total.
pub fn weight(source: usize, events: u8) -> i16 {
    let has = |event: &usize| events >> event & 1 == 1;
    (0..4).filter(has).map(|event| WEIGHTS[source][event]).sum()
}

/// Whether the total includes each event at most once, and none negatively.
pub fn has_no_event_twice(total: i16) -> bool {
    total >= 0 && DIGITS.iter().all(|digit| total / digit % 4 <= 1)
}

impl Counters {
    /// The total of the rows.
    pub fn total(&self, sql: &Sql) -> i16 {
        let uncounted = if self.scope.faults.has(Fault::Mismatch) { MISMATCHED } else { 0 };
        let direct = if sql.has_direct_change { DIRECT_CHANGE } else { 0 };
        weight(0, sql.rows[0] & !uncounted) + weight(1, sql.rows[1]) + direct
    }

    /// Whether the total includes an event that was lost, and the one that was appended after the loss.
    pub fn has_lost_and_extra(&self, state: &State, total: i16) -> bool {
        let lost = state.log.lost & !state.sql.rows[0];
        let has = |event: &usize| total / WEIGHTS[0][*event] % 4 > 0;
        has(&2) && (0..2).filter(|event| lost >> event & 1 == 1).any(|event| has(&event))
    }

    /// Whether `newer` includes all events of `older`, except lost, mismatched and rolled back ones.
    pub fn includes_sent_events(&self, state: &State, older: i16, newer: i16) -> bool {
        let mut excused = weight(0, state.log.lost & !state.sql.rows[0]);
        if self.scope.faults.has(Fault::Mismatch) {
            excused += weight(0, MISMATCHED & !(state.log.lost & !state.sql.rows[0]));
        }
        if !state.sql.has_direct_change {
            excused += DIRECT_CHANGE;
        }
        let has = |total: i16, digit: i16| total / digit % 4 > 0;
        DIGITS.iter().all(|digit| has(newer, *digit) || !has(older, *digit) || has(excused, *digit))
    }
}
