//! Flips of the actor, and the look-ups that they need (`lua/flip_edge.lua`, `src/domain/memory/memberships.rs`).

use super::{
    Action, Guard, Membership,
    state::{Load, Newest, Offset, Row, Set, State, TARGETS, switch},
};

/// State of an edge according to Redis alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    On,
    Off,
    NoSet,
    BelowFloor,
}

/// The target with an idempotency key. There is one key, for switching the highest target on.
pub const KEYED: u8 = 2;

impl Membership {
    pub(super) fn action_steps(actions: &mut Vec<Action>) {
        for target in 0..TARGETS {
            for on in [true, false] {
                let keys: &[bool] = if on && target == KEYED { &[false, true] } else { &[false] };
                actions.extend(keys.iter().map(|key| Action::Flips { target, on, key: *key }));
            }
            actions.push(Action::AsksForRow { target });
        }
        actions.extend([Action::GivesUpRow, Action::LoadReadsRows, Action::LoadInstalls]);
        actions.extend([Action::InstallsNewest, Action::GivesUpLoad, Action::SetExpires]);
    }

    pub(super) fn is_ready(&self, state: &State) -> bool {
        state.shard.has_meta && (state.shard.is_recovered || !self.has(Guard::RecoveredProcess))
    }

    pub(super) fn answer(&self, state: &State, target: u8) -> Answer {
        let known = self.state_in_set(state, target);
        let pending = self.pending(state, target).filter(|_| self.has(Guard::PendingBeforeRow));
        match (known, pending) {
            (Answer::NoSet | Answer::BelowFloor, Some(on)) => {
                if on {
                    Answer::On
                } else {
                    Answer::Off
                }
            }
            (known, _) => known,
        }
    }

    /// The state of a target's pending flip.
    fn pending(&self, state: &State, target: u8) -> Option<bool> {
        let shard = &state.shard;
        let is_current = |at: Offset| at.0 == shard.generation || !self.has(Guard::PendingOfGeneration);
        shard.pending[usize::from(target)].filter(|(_, at)| is_current(*at)).map(|(on, _)| on)
    }

    fn is_usable(&self, state: &State, set: &Set) -> bool {
        set.generation == state.shard.generation || !self.has(Guard::SetOfGeneration)
    }

    fn state_in_set(&self, state: &State, target: u8) -> Answer {
        match state.shard.set.filter(|set| self.is_usable(state, set)) {
            None => Answer::NoSet,
            Some(set) if set.members >> target & 1 == 1 => Answer::On,
            Some(Set { floor: Some(floor), .. }) if target < floor && self.has(Guard::FloorAsksPostgres) => {
                Answer::BelowFloor
            }
            Some(_) => Answer::Off,
        }
    }

    /// Flips up to this offset may have left the pending overlay: PostgreSQL must have them.
    fn retired(&self, state: &State) -> Offset {
        let shard = &state.shard;
        if self.has(Guard::RetireWritesPosition) { shard.flips_retired } else { shard.members_retired }
    }

    pub(super) fn flips(&self, state: &State, target: u8, on: bool, has_key: bool) -> Option<State> {
        if !self.is_ready(state) {
            return None;
        }
        let mut next = *state;
        if let Some(stored) = state.shard.key.filter(|_| has_key && self.has(Guard::KeyAnswersFirst)) {
            next.wrong.key |= state.first_result.is_some_and(|first| first != stored);
            return Some(next);
        }
        let row = state.row.filter(|row| {
            let is_recent = row.persisted >= self.retired(state) || !self.has(Guard::RowNotBeforeRetired);
            row.target == target && is_recent
        });
        let was_on = match (self.answer(state, target), row) {
            (Answer::On, _) => true,
            (Answer::Off, _) => false,
            (Answer::NoSet | Answer::BelowFloor, Some(row)) => {
                next.row = None;
                row.is_on
            }
            (Answer::NoSet | Answer::BelowFloor, None) => return None,
        };
        next.wrong.decision |= was_on != (state.truth >> target & 1 == 1);
        if has_key {
            next.wrong.key |= state.first_result.is_some();
            next.shard.key = Some(was_on != on);
            next.first_result = Some(was_on != on);
        }
        if was_on != on {
            next.flips_left = state.flips_left.checked_sub(1)?;
            next.shard.log.push(target, on);
            let at = (state.shard.generation, next.shard.log.length);
            next.shard.pending[usize::from(target)] = Some((on, at));
            if let Some(set) = next.shard.set.as_mut().filter(|set| self.is_usable(state, set))
                && self.has(Guard::FlipWritesSet)
            {
                set.switch(target, on);
            }
            next.truth ^= 1 << target;
        } else if !on && self.records_off && self.pending(state, target).is_none() {
            next.flips_left = state.flips_left.checked_sub(1)?;
            next.shard.log.push(target, false);
            let at = (state.shard.generation, next.shard.log.length);
            next.shard.pending[usize::from(target)] = Some((false, at));
        }
        Some(next)
    }

    pub(super) fn asks_for_row(&self, state: &State, target: u8) -> Option<State> {
        let is_needed = matches!(self.answer(state, target), Answer::BelowFloor | Answer::NoSet);
        if state.row.is_some() || !self.is_ready(state) || !is_needed {
            return None;
        }
        let (is_on, persisted) = (state.rows.on >> target & 1 == 1, state.rows.persisted);
        Some(State { row: Some(Row { target, is_on, persisted }), ..*state })
    }

    pub(super) fn load_reads_rows(&self, state: &State) -> Option<State> {
        let is_missing = self.state_in_set(state, 0) == Answer::NoSet || self.listed(state).is_none();
        if state.load.is_some() || !self.is_ready(state) || !is_missing {
            return None;
        }
        let mut next = *state;
        next.loads_left = state.loads_left.checked_sub(1)?;
        next.load = Some(Load { generation: state.shard.generation, rows: state.rows });
        Some(next)
    }

    /// The targets that `src/domain/edges/lists.rs` shows, if it does not ask PostgreSQL: the newest edges, and
    /// pending flips.
    pub fn listed(&self, state: &State) -> Option<u8> {
        let is_usable = |newest: &Newest| {
            newest.generation == state.shard.generation || !self.has(Guard::NewestOfGeneration)
        };
        let mut listed = state.shard.newest.filter(is_usable)?.targets;
        let flips = (0..TARGETS).filter_map(|target| Some((target, self.pending(state, target)?)));
        switch(&mut listed, &flips.collect::<Vec<_>>());
        Some(listed)
    }

    fn accepts(&self, state: &State, load: &Load) -> bool {
        self.is_ready(state)
            && (load.generation == state.shard.generation || !self.has(Guard::InstallOfGeneration))
            && (load.rows.persisted >= self.retired(state) || !self.has(Guard::InstallNotBeforeRetired))
    }

    /// `lua/install_newest.lua`
    pub(super) fn installs_newest(&self, state: &State) -> Option<State> {
        let load = state.load?;
        let mut next = State { load: None, ..*state };
        if self.accepts(state, &load) {
            next.shard.newest = Some(Newest { generation: state.shard.generation, targets: load.rows.on });
        }
        Some(next)
    }

    /// `lua/install_members.lua`. The set has room for one target: the highest is kept.
    pub(super) fn load_installs(&self, state: &State) -> Option<State> {
        let load = state.load?;
        let mut next = State { load: None, ..*state };
        if self.accepts(state, &load) {
            let rows = load.rows;
            let generation = state.shard.generation;
            let highest = 7 - rows.on.leading_zeros().min(7) as u8;
            let mut set = if rows.on.count_ones() > 1 {
                Set { generation, members: 1 << highest, floor: Some(highest) }
            } else {
                Set { generation, members: rows.on, floor: None }
            };
            for target in 0..TARGETS {
                if let Some(on) = self.pending(state, target)
                    && self.has(Guard::InstallAppliesPending)
                {
                    set.switch(target, on);
                }
            }
            next.shard.set = Some(set);
        }
        Some(next)
    }
}
