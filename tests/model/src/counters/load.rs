//! Loads: computing totals that Redis lacks (`src/counting/hub/load.rs`, `src/store/redis/log/tails.rs`, `lua/begin_load.lua`,
//! `lua/install_counts.lua`).

use super::{
    Action, Counters, Guard, Message,
    log::is_of_same_generation,
    state::{Content, Counter, Load, Sql, State},
    totals::weight,
};

impl Counters {
    pub(super) fn load_actions(&self, state: &State, actions: &mut Vec<Action>) {
        match state.load {
            Load::Idle => actions.push(Action::LoadBegins),
            Load::HasBegun { .. } => {
                actions.push(Action::LoadReadsTotals);
                if state.former.is_some() {
                    actions.push(Action::LoadReadsFormerPrimary);
                }
            }
            Load::HasTotals { .. } => actions.push(Action::LoadReadsLogs),
            Load::HasBase { .. } => {
                actions.extend(self.messages().iter().map(|message| Action::LoadInstalls(*message)));
            }
        }
    }

    /// `lua/begin_load.lua`: the counter begins at zero, and the fold adds to it from now on.
    pub(super) fn load_begins(&self, state: &State) -> Option<State> {
        if !self.is_ready(state) || self.readable_total(state).is_some() {
            return None;
        }
        let mut next = *state;
        let target = &mut next.target;
        target.counter = Some(Counter { epoch: target.epoch, change: 0, total: 0, is_loading: true });
        next.load = Load::HasBegun { folded: target.folded };
        // After a failover the other Redis has the mark of an earlier load.
        let former = next.former_redis.as_mut().map(|former| &mut former.target);
        for other in next.replica.iter_mut().chain(former) {
            other.counter = other.counter.filter(|counter| !counter.is_loading);
        }
        Some(next)
    }

    /// One statement reads the total and the persisted offset of each log.
    pub(super) fn load_reads_totals(&self, state: &State, sql: &Sql) -> Option<State> {
        let Load::HasBegun { folded } = state.load else { return None };
        let (timeline, persisted, total) = (sql.timeline, sql.persisted, self.total(sql));
        let load = Load::HasTotals { folded, timeline, persisted, total };
        Some(State { load, ..*state })
    }

    /// Adds the events that were folded, but not persisted (`src/store/redis/log/tails.rs`).
    pub(super) fn load_reads_logs(&self, state: &State) -> Option<State> {
        let Load::HasTotals { folded, timeline, persisted, total } = state.load else { return None };
        let mut base = total;
        for source in 0..2 {
            let (persisted, folded) = (persisted[source], folded[source]);
            if !is_of_same_generation(persisted, folded) && self.has(Guard::TailOfGeneration) {
                return Some(State { load: Load::Idle, ..*state });
            }
            let is_ahead = self.events_between(&state.log, source, folded, persisted) != Some(0);
            if persisted > folded && is_ahead && self.has(Guard::InstallNotAheadOfFold) {
                return Some(State { load: Load::Idle, ..*state });
            }
            match self.events_between(&state.log, source, persisted, folded) {
                Some(events) => base += weight(source, events),
                None => return Some(State { load: Load::Idle, ..*state }),
            }
        }
        Some(State { load: Load::HasBase { timeline, base }, ..*state })
    }

    /// `lua/install_counts.lua`
    pub(super) fn load_installs(&self, state: &State, message: Message) -> Option<State> {
        let Load::HasBase { timeline, base } = state.load else { return None };
        let mut next = State { load: Load::Idle, ..*state };
        let target = &mut next.target;
        let loading = self.live(target).filter(|counter| counter.is_loading);
        let is_accepted = self.is_ready(state)
            && (target.timeline == timeline || !self.has(Guard::InstallOfTimeline))
            && (loading.is_some() || !self.has(Guard::InstallIntoLoading));
        if !is_accepted {
            return (message == Message::Received).then_some(next);
        }
        let loading = loading.unwrap_or(Counter { epoch: target.epoch, ..Counter::default() });
        let total = if self.has(Guard::InstallAddsFolded) { base + loading.total } else { base };
        let mut counter = Counter { total, is_loading: false, ..loading };
        if self.has(Guard::InstallTakesVersion) || counter.change == 0 {
            counter.change = self.next_change(target, counter.change);
        }
        target.counter = Some(counter);
        self.publish(&mut next, counter.change, Content::All(counter.total), message);
        Some(next)
    }
}
