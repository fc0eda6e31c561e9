//! Direct changes, and the corrections that lines of `stale_base` ask for (`pipeline/jobs/invalidations.rs`,
//! `lua/invalidate_counts.lua`). A request that corrects by itself takes the same steps for its own line.

use super::{
    Action, Counters, Guard, Message,
    state::{Correction, State},
};

const LINE_OF_DIRECT_CHANGE: u8 = 0b1;

impl Counters {
    pub(super) fn correction_actions(&self, state: &State, actions: &mut Vec<Action>) {
        if self.scope.with_direct_change && !state.direct_change_is_done {
            actions.push(Action::DirectChangeCommits);
        }
        let drops_first = self.has(Guard::DropBeforeDelete);
        let drop = self.messages().iter().map(|message| Action::DropsBase(*message));
        match state.correction {
            Correction::Idle => actions.push(Action::ReadsStaleLines),
            Correction::Read { .. } if drops_first => actions.extend(drop),
            Correction::Read { .. } | Correction::Dropped { .. } => actions.push(Action::DeletesStaleLines),
            Correction::Deleted => actions.extend(drop),
        }
    }

    /// Rows, totals and the line are one transaction.
    pub(super) fn direct_change_commits(&self, state: &State) -> Option<State> {
        let mut next = *state;
        next.direct_change_is_done = true;
        next.sql.has_direct_change = true;
        self.write_line(&mut next.sql, LINE_OF_DIRECT_CHANGE);
        Some(next)
    }

    pub(super) fn reads_stale_lines(&self, state: &State) -> Option<State> {
        if state.sql.lines == 0 {
            return None;
        }
        Some(State { correction: Correction::Read { lines: state.sql.lines }, ..*state })
    }

    /// `lua/invalidate_counts.lua`
    pub(super) fn drops_base(&self, state: &State, message: Message) -> Option<State> {
        if !self.is_ready(state) {
            return None;
        }
        let mut next = *state;
        next.correction = match state.correction {
            Correction::Read { lines } => Correction::Dropped { lines },
            _ => Correction::Idle,
        };
        let target = &mut next.target;
        if self.has(Guard::DropTakesToken) {
            target.has_token = false;
        }
        let live = self.live(target);
        target.counter = live.filter(|counter| counter.marks != [None, None]);
        if let Some(counter) = &mut target.counter {
            counter.total = None;
        }
        if self.has(Guard::DropSaysUnknown) {
            let change = self.next_change(target, live.map_or(0, |counter| counter.change));
            if let Some(counter) = &mut target.counter {
                counter.change = change;
            }
            self.publish(&mut next, change, None, message);
        } else if message == Message::Missed {
            return None;
        }
        Some(next)
    }

    pub(super) fn deletes_stale_lines(&self, state: &State) -> Option<State> {
        let (lines, then) = match state.correction {
            Correction::Dropped { lines } => (lines, Correction::Idle),
            Correction::Read { lines } => (lines, Correction::Deleted),
            Correction::Idle | Correction::Deleted => return None,
        };
        let mut next = *state;
        next.sql.lines &= if self.has(Guard::DeleteOwnLines) { !lines } else { 0 };
        next.correction = then;
        Some(next)
    }
}
