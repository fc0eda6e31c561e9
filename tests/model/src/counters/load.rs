//! Loads: reading totals that Redis lacks (`hub/load.rs`, `lua/take_load_tokens.lua`, `lua/install_counts.lua`).

use super::{
    Action, Counters, Guard, Message,
    state::{Content, Counter, Load, Sql, State},
};

impl Counters {
    pub(super) fn load_actions(&self, state: &State, actions: &mut Vec<Action>) {
        match state.load {
            Load::Idle => actions.push(Action::LoadTakesToken),
            Load::HasToken { .. } => {
                actions.push(Action::LoadReadsTotals);
                if state.former.is_some() {
                    actions.push(Action::LoadReadsFormerPrimary);
                }
            }
            Load::HasRead { .. } => {
                actions.extend(self.messages().iter().map(|message| Action::LoadInstalls(*message)));
            }
        }
    }

    pub(super) fn load_takes_token(&self, state: &State) -> Option<State> {
        if !self.is_ready(state) || self.readable_total(state).is_some() {
            return None;
        }
        let mut next = *state;
        next.target.has_token = true;
        if let Some(replica) = &mut next.replica {
            replica.has_token = false; // after a failover the replica has an outdated token
        }
        next.load = Load::HasToken { epoch: state.target.epoch, retired: state.target.retired };
        Some(next)
    }

    /// One statement reads the total and the persisted offset of each log.
    pub(super) fn load_reads_totals(&self, state: &State, sql: &Sql) -> Option<State> {
        let Load::HasToken { epoch, retired } = state.load else { return None };
        let is_behind = (0..2).any(|source| sql.persisted[source] < retired[source]);
        let load = if is_behind && self.has(Guard::LoadNotBeforeRetired) {
            Load::Idle
        } else {
            let (timeline, persisted) = (sql.timeline, sql.persisted);
            Load::HasRead { epoch, timeline, persisted, total: self.total(sql) }
        };
        Some(State { load, ..*state })
    }

    /// `lua/install_counts.lua`
    pub(super) fn load_installs(&self, state: &State, message: Message) -> Option<State> {
        let Load::HasRead { epoch, timeline, persisted, total } = state.load else { return None };
        let mut next = State { load: Load::Idle, ..*state };
        let target = &mut next.target;
        let mut counter = self.live(target).unwrap_or(Counter { epoch: target.epoch, ..Counter::default() });
        let is_refused = |source: usize| {
            let (persisted, folded) = (persisted[source], target.folded[source]);
            let is_pending = counter.marks[source].is_some_and(|mark| persisted > mark.after);
            persisted > folded && self.has(Guard::InstallNotAheadOfFold)
                || target.folded_before_reset[source] > folded
                    && self.has(Guard::InstallAfterFoldedBeforeReset)
                || is_pending && self.has(Guard::InstallNotIntoPending)
        };
        let is_accepted = self.is_ready(state)
            && (target.epoch == epoch || !self.has(Guard::InstallInEpoch))
            && (target.timeline == timeline || !self.has(Guard::InstallOfTimeline))
            && (target.has_token || !self.has(Guard::InstallWithToken))
            && !(0..2).any(is_refused);
        if !is_accepted {
            return (message == Message::Received).then_some(next);
        }
        target.has_token = false;
        counter.total = Some(counter.total.unwrap_or(total + counter.pending));
        if self.has(Guard::InstallTakesVersion) || counter.change == 0 {
            counter.change = self.next_change(target, counter.change);
        }
        target.counter = Some(counter);
        self.publish(&mut next, counter.change, Content::all(counter.total), message);
        Some(next)
    }
}
