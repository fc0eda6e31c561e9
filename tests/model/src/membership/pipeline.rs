//! Persister, retirement and recovery of members (`src/counting/pipeline/persist`,
//! `src/counting/pipeline/retire.rs`, `lua/retire_members.lua`,
//! `src/counting/ownership/recovery.rs`), and faults.

use super::{
    Action, Fault, Guard, Membership,
    state::{Batch, Log, Offset, Rows, Shard, State, switch},
};

impl Membership {
    pub(super) fn pipeline_steps(&self, state: &State, actions: &mut Vec<Action>) {
        actions.extend((1..=state.shard.log.length).map(|to| Action::PersisterReads { to }));
        actions.extend([Action::PersisterCommits, Action::PersisterIsKilled]);
        actions.extend((1..=state.rows.persisted.1).map(|to| Action::RetiresMembers { to }));
        actions.push(Action::AdvancesMembers);
        actions.extend([Action::Recovers, Action::NoticesTimeline]);
        let may = |fault: &Fault| self.faults.contains(fault) && state.happened >> *fault as u8 & 1 == 0;
        for fault in self.faults.iter().filter(|fault| may(fault)) {
            actions.push(Action::Happens(*fault));
            if *fault != Fault::FlushAll {
                actions.push(Action::CopyCatchesUp(*fault));
            }
        }
    }

    /// Reads the log contiguously; after a change of generation, from its beginning.
    pub(super) fn persister_reads(&self, state: &State, to: u8) -> Option<State> {
        let (shard, from) = (&state.shard, state.rows.persisted);
        let replicated = match (self.faults.contains(&Fault::Failover), &state.copy) {
            (true, Some(copy)) if copy.generation == shard.generation => copy.log.length,
            (true, _) => 0,
            (false, _) => shard.log.length,
        };
        let is_behind = from.0 > shard.generation;
        if state.batch.is_some()
            || !shard.has_meta
            || is_behind
            || to > replicated
            || to <= read_from(from, shard)
        {
            return None;
        }
        let batch = Batch { from, to: (shard.generation, to), log: shard.log };
        Some(State { batch: Some(batch), ..*state })
    }

    pub(super) fn persister_commits(&self, state: &State) -> Option<State> {
        let mut next = *state;
        let batch = next.batch.take()?;
        if batch.from == state.rows.persisted {
            let first = if batch.from.0 == batch.to.0 { batch.from.1 } else { 0 };
            switch(&mut next.rows.on, batch.log.after(first, batch.to.1));
            next.rows.persisted = batch.to;
        }
        Some(next)
    }

    pub(super) fn retires_members(&self, state: &State, to: u8) -> Option<State> {
        let (shard, from, to) = (&state.shard, state.shard.members_retired, (state.shard.generation, to));
        let is_persisted = state.rows.persisted.0 == to.0 && to.1 <= shard.log.length;
        if !self.is_ready(state) || !is_persisted || to <= from || shard.unwritten.is_some() {
            return None;
        }
        let mut next = *state;
        next.shard.unwritten = Some(to);
        next.shard.flips_retired = to.max(state.shard.flips_retired);
        let shard = &mut next.shard;
        for (target, _) in state.shard.log.after(read_from(from, shard), to.1) {
            let slot = &mut shard.pending[usize::from(*target)];
            let Some((on, at)) = *slot else { continue };
            if at <= to || !self.has(Guard::RetireUpToPosition) {
                *slot = None;
                if let Some(newest) = shard.newest.as_mut().filter(|_| self.has(Guard::RetireWritesNewest)) {
                    switch(&mut newest.targets, &[(*target, on)]);
                }
            }
        }
        Some(next)
    }

    pub(super) fn advances_members(&self, state: &State) -> Option<State> {
        let mut next = *state;
        next.shard.members_retired = next.shard.unwritten.take()?;
        Some(next)
    }

    /// Compares the log with PostgreSQL; if it is short, the next generation begins.
    pub(super) fn recovers(&self, state: &State) -> Option<State> {
        let (shard, persisted) = (&state.shard, state.rows.persisted);
        if shard.has_meta && shard.is_recovered {
            return None;
        }
        let mut next = *state;
        if self.has(Guard::RecoveryFences) {
            next.batch = None;
        }
        if !shard.has_meta || (shard.generation, shard.log.length) < persisted {
            let generation = persisted.0.max(shard.generation) + 1;
            next.rows.persisted = (generation, 0);
            next.shard.generation = generation;
            next.shard.log = Log::default();
            next.shard.members_retired = (generation, 0);
            next.shard.flips_retired = (generation, 0);
        }
        next.shard.has_meta = true;
        next.shard.is_recovered = true;
        next.shard.unwritten = None;
        next.has_new_timeline = false;
        next.truth = surviving(&next.rows, &next.shard);
        Some(next)
    }

    /// The next leadership begins; members and log stay.
    pub(super) fn notices_timeline(&self, state: &State) -> Option<State> {
        if !state.has_new_timeline || !self.is_ready(state) {
            return None;
        }
        let mut next = State { has_new_timeline: false, batch: None, ..*state };
        next.shard.unwritten = None;
        Some(next)
    }

    pub(super) fn copy_catches_up(&self, state: &State, fault: Fault) -> Option<State> {
        let mut next = *state;
        match fault {
            Fault::FlushAll => return None,
            Fault::Failover | Fault::PowerLoss => next.copy = Some(state.shard),
            Fault::PostgresFailover => next.standby = Some(state.rows),
        }
        (next != *state).then_some(next)
    }

    pub(super) fn happens(&self, state: &State, fault: Fault) -> Option<State> {
        let mut next = *state;
        next.happened |= 1 << fault as u8;
        match fault {
            Fault::FlushAll => {
                next.shard = Shard { generation: 0, ..empty_shard() };
                next.first_result = None;
                next.truth = state.rows.on;
            }
            Fault::Failover | Fault::PowerLoss => {
                next.shard = state.copy.filter(|copy| *copy != state.shard)?;
                next.shard.is_recovered = false;
                next.first_result = state.first_result.filter(|_| next.shard.key.is_some());
                next.truth = surviving(&next.rows, &next.shard);
            }
            Fault::PostgresFailover => {
                next.rows = state.standby?;
                next.has_new_timeline = true;
                next.truth = surviving(&next.rows, &next.shard); // entries that the log lost before are lost now
            }
        }
        Some(next)
    }
}

pub(super) const fn empty_shard() -> Shard {
    Shard {
        has_meta: false,
        is_recovered: false,
        generation: 1,
        members_retired: (1, 0),
        flips_retired: (1, 0),
        unwritten: None,
        log: Log { length: 0, flips: [(0, false); super::state::MOST_FLIPS] },
        pending: [None; super::state::TARGETS as usize],
        set: None,
        newest: None,
        key: None,
    }
}

/// Targets that are on once the surviving entries of the log are persisted.
fn surviving(rows: &Rows, shard: &Shard) -> u8 {
    let mut on = rows.on;
    if shard.has_meta && rows.persisted.0 <= shard.generation {
        let from = read_from(rows.persisted, shard);
        switch(&mut on, shard.log.after(from, shard.log.length.max(from)));
    }
    on
}

const fn read_from(from: Offset, shard: &Shard) -> u8 {
    if from.0 == shard.generation { from.1 } else { 0 }
}
