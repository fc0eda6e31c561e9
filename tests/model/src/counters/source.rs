//! Fold and persister of the logs (`src/counting/pipeline/fold`, `src/counting/pipeline/persist` and their scripts).
//!
//! Log 0 in small steps: a batch is read, and later sent. In between it may become outdated by other owners, resets and
//! losses. A step is refused in the cases in which the script or transaction refuses it.

use super::{
    Action, Counters, Guard, Message, Who,
    log::Log,
    state::{Batch, Content, Owner, Phase, Sql, State},
    totals::{MISMATCHED, weight},
};
use crate::counters::Fault;

const ALL: u8 = u8::MAX;

/// Ids of invalidations, as bits.
const ID_OF_MISMATCH: u8 = 0b10;
const ID_OF_REPEATED_ROWS: u8 = 0b100;
/// Number of ids per timeline.
const IDS_PER_TIMELINE: u8 = 3;

impl Counters {
    pub(super) fn source_actions(&self, state: &State, actions: &mut Vec<Action>) {
        let messages = self.messages();
        if self.scope.in_small_steps {
            if state.owner.phase == Phase::Works {
                actions.extend([1, 2].map(|most| Action::FoldReads { most }));
                actions.extend([1, 2].map(|most| Action::PersisterReads { most }));
            }
            for (who, owner) in [(Who::Owner, &state.owner), (Who::LateOwner, &state.late_owner)] {
                if owner.fold.is_some() {
                    actions.extend(messages.iter().map(|message| Action::FoldIsSent(who, *message)));
                }
                if owner.persist.is_some() {
                    actions.push(Action::PersisterCommits(who));
                }
            }
            if state.late_owner.has_unsent_batch() {
                actions.push(Action::LateOwnerEnds);
            }
        }
        for source in if self.scope.in_small_steps { 1..2 } else { 0..2 } {
            actions.extend(messages.iter().map(|message| Action::Folds { source, message: *message }));
            actions.push(Action::Persists { source });
        }
    }

    // ---- in small steps

    /// Reads the target's position, then the log from there.
    pub(super) fn fold_reads(&self, state: &State, most: u8) -> Option<State> {
        let (target, owner) = (&state.target, &state.owner);
        if owner.fold.is_some() || !target.has_meta {
            return None;
        }
        let from = target.folded[0];
        let (to, events) = state.log.read(from, most, ALL);
        let mut next = *state;
        if to > from {
            let is_same_as_one = most == 2 && state.log.read(from, 1, ALL).0 == to;
            if is_same_as_one {
                return None;
            }
            next.owner.fold = Some(Batch { from, to, events, last: 0, epoch: target.epoch });
        }
        (next != *state).then_some(next)
    }

    /// `lua/fold.lua` for one log. A call for several logs is accepted if each alone would be, and has the
    /// effect of folding one after the other, but for an entity that several of them touch: it gets the last
    /// version only. A call for several targets folds into one after the other.
    pub(super) fn fold_is_sent(&self, state: &State, who: Who, message: Message) -> Option<State> {
        let mut next = *state;
        let owner = owner_of(&mut next, who);
        let Owner { fence, epoch, timeline, .. } = *owner;
        let batch = owner.fold.take()?;
        let target = &state.target;
        let is_accepted = self.is_ready(state)
            && (target.epoch == batch.epoch || !self.has(Guard::FoldOfEpoch))
            && (!is_older(state, epoch, timeline) || !self.has(Guard::FoldNotOfOlderEpoch))
            && (fence >= target.fence || !self.has(Guard::FenceInRedis))
            && (target.folded[0] == batch.from || !self.has(Guard::FoldFromPosition));
        if is_accepted {
            next.target.fence = fence;
            self.fold(&mut next, 0, batch.to, batch.events, message);
        } else if message == Message::Missed {
            return None;
        }
        Some(next)
    }

    /// Reads the log from the offset that the owner assumes to be persisted.
    pub(super) fn persister_reads(&self, state: &State, most: u8) -> Option<State> {
        let owner = &state.owner;
        let from = owner.persisted;
        if self.has(Guard::LastEntryIsReadAgain) && self.has_other_end(state, from, owner.last) {
            return self.begins_leadership(state, true);
        }
        let (to, events) = state.log.read(from, most, ALL);
        let is_same_as_one = most == 2 && state.log.read(from, 1, ALL).0 == to;
        if owner.persist.is_some() || to == from || is_same_as_one {
            return None;
        }
        let mut next = *state;
        next.owner.persist = Some(Batch { from, to, events, last: self.last(state, to), epoch: 0 });
        Some(next)
    }

    /// `src/counting/pipeline/persist/write.rs write_batch`. A refusal ends the leadership.
    pub(super) fn persister_commits(&self, state: &State, who: Who) -> Option<State> {
        let mut next = *state;
        let owner = owner_of(&mut next, who);
        let batch = owner.persist.take()?;
        let is_accepted = (owner.fence == state.sql.fence || !self.has(Guard::FenceInSql))
            && (state.sql.persisted[0] == batch.from || !self.has(Guard::PersistFromOffset));
        if is_accepted {
            (owner.persisted, owner.last) = (batch.to, batch.last);
            self.persist(&mut next.sql, 0, batch.to, batch.events, batch.last);
        } else if who == Who::Owner {
            return self.begins_leadership(&next, true);
        }
        Some(next)
    }

    // ---- in one step

    pub(super) fn folds(&self, state: &State, source: usize, message: Message) -> Option<State> {
        let from = state.target.folded[source];
        let (to, events) = self.read(&state.log, source, from, 1, ALL);
        if !self.is_ready(state) || !works(state, source) || to == from {
            return None;
        }
        let is_older =
            is_older(state, state.owner.epoch, state.owner.timeline) && self.has(Guard::FoldNotOfOlderEpoch);
        if source == 0 && (state.owner.fence < state.target.fence || is_older)
            || events == 0 && message == Message::Missed
        {
            return None;
        }
        let mut next = *state;
        self.fold(&mut next, source, to, events, message);
        Some(next)
    }

    pub(super) fn persists(&self, state: &State, source: usize) -> Option<State> {
        let from = state.sql.persisted[source];
        let (to, events) = self.read(&state.log, source, from, 1, ALL);
        let is_fenced = source == 0 && state.owner.fence != state.sql.fence;
        if !works(state, source) || is_fenced || to == from {
            return None;
        }
        let last = state.sql.last;
        if source == 0 && self.has(Guard::LastEntryIsReadAgain) && self.has_other_end(state, from, last) {
            return self.begins_leadership(state, true);
        }
        let mut next = *state;
        self.persist(
            &mut next.sql,
            source,
            to,
            events,
            if source == 0 { self.last(state, to) } else { last },
        );
        Some(next)
    }

    /// Whether entries are compared in this run: in others none is overwritten.
    pub(super) const fn compares_entries(&self) -> bool {
        self.scope.faults.has(Fault::FormerReturns)
    }

    /// The event at an offset of log 0, for comparing it later.
    pub(super) const fn last(&self, state: &State, offset: u8) -> u8 {
        if self.compares_entries() { state.log.event_at(offset) } else { 0 }
    }

    /// Whether log 0 has another entry at an offset that was read or persisted before.
    pub(super) const fn has_other_end(&self, state: &State, offset: u8, last: u8) -> bool {
        self.compares_entries() && offset > 0 && state.log.differs(offset, last)
    }

    fn read(&self, log: &Log, source: usize, from: u8, most: u8, limit: u8) -> (u8, u8) {
        if source == 0 {
            return log.read(from, most, limit);
        }
        let to = from.saturating_add(most).min(self.scope.events[1]).min(limit);
        (to, (1u8 << to) - (1u8 << from))
    }

    /// Events after `from` and up to `to`, if the log has all of them; none if `to` is not after `from`.
    pub(super) fn events_between(&self, log: &Log, source: usize, from: u8, to: u8) -> Option<u8> {
        if to <= from {
            return Some(0);
        }
        let (end, events) = self.read(log, source, from, ALL, to);
        (end == to || !self.has(Guard::TailIsWhole)).then_some(events)
    }

    // ---- effects of the scripts and the transaction

    fn fold(&self, state: &mut State, source: usize, to: u8, events: u8, message: Message) {
        let target = &mut state.target;
        target.folded[source] = to;
        if events == 0 {
            return;
        }
        let live = self.live(target);
        let change = self.next_change(target, live.map_or(0, |counter| counter.change));
        let content = match live {
            Some(mut counter) => {
                counter.total += weight(source, events);
                counter.change = change;
                target.counter = Some(counter);
                if counter.is_loading { Content::Invalidated } else { Content::Moved(counter.total) }
            }
            None => Content::Invalidated,
        };
        self.publish(state, change, content, message);
    }

    pub(super) fn persist(&self, sql: &mut Sql, source: usize, to: u8, events: u8, last: u8) {
        if self.has(Guard::MismatchInvalidates) {
            if source == 0 && self.scope.faults.has(Fault::Mismatch) && events & MISMATCHED != 0 {
                self.write_invalidation(sql, ID_OF_MISMATCH);
            }
            if sql.rows[source] & events != 0 {
                self.write_invalidation(sql, ID_OF_REPEATED_ROWS);
            }
        }
        sql.rows[source] |= events;
        (sql.persisted[source], sql.last) = (to, last);
    }

    /// Without the guard, an id is used again after a failover, as by a sequence.
    pub(super) fn write_invalidation(&self, sql: &mut Sql, id: u8) {
        let shift =
            if self.has(Guard::InvalidationIdsNeverReused) { sql.timeline * IDS_PER_TIMELINE } else { 0 };
        sql.invalidations |= id << shift;
    }
}

fn owner_of(state: &mut State, who: Who) -> &mut Owner {
    match who {
        Who::Owner => &mut state.owner,
        Who::LateOwner => &mut state.late_owner,
    }
}

/// Whether the target's counters began before the owner recovered its log, and PostgreSQL had others for it by then.
const fn is_older(state: &State, epoch: u8, timeline: u8) -> bool {
    state.target.epoch < epoch || state.target.timeline != timeline
}

fn works(state: &State, source: usize) -> bool {
    source == 1 || state.owner.phase == Phase::Works
}
