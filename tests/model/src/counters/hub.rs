//! A hub with one client (`hub/view.rs`, `hub/watch.rs`). The client watches the counter, so the hub
//! reads a counter until it has it.

use super::{
    Action, Counters, Guard, Message,
    state::{Slot, State, Version},
};

impl Counters {
    /// Whether a message may be received or missed. Without a hub all count as received.
    pub(super) const fn messages(&self) -> &'static [Message] {
        if self.scope.with_hub { &[Message::Received, Message::Missed] } else { &[Message::Received] }
    }

    pub(super) fn hub_actions(&self, state: &State, actions: &mut Vec<Action>) {
        if !self.scope.with_hub {
            return;
        }
        if state.hub.has_gap {
            actions.push(Action::HubSeesGap);
        }
        actions.push(if state.hub.reading.is_some() { Action::HubGetsReply } else { Action::HubReads });
    }

    /// Publishes a message on the target's channel; `total` is `None` for an invalidation.
    pub(super) fn publish(&self, state: &mut State, change: u8, total: Option<i16>, message: Message) {
        if !self.scope.with_hub {
            return;
        }
        let version = (state.target.epoch, change);
        let hub = &mut state.hub;
        hub.wrong.version_fell |= version <= hub.newest;
        hub.newest = hub.newest.max(version);
        if message == Message::Missed {
            hub.has_gap = true;
            return;
        }
        self.ends_gap(state);
        let known = match state.hub.slot {
            Slot::Known => state.hub.sent,
            Slot::Invalidated(since) => since,
            Slot::Empty => (0, 0),
        };
        if version > known {
            match total {
                Some(total) => self.store(state, version, total),
                None => state.hub.slot = Slot::Invalidated(version),
            }
        }
    }

    pub(super) fn hub_has_gap(&self, state: &mut State) {
        state.hub.has_gap = self.scope.with_hub;
    }

    /// A heartbeat, a new epoch or a lost connection.
    pub(super) fn hub_sees_gap(&self, state: &State) -> Option<State> {
        let mut next = *state;
        self.ends_gap(&mut next);
        Some(next)
    }

    fn ends_gap(&self, state: &mut State) {
        let hub = &mut state.hub;
        if !hub.has_gap {
            return;
        }
        hub.has_gap = false;
        if self.has(Guard::GapIsReadAgain) {
            hub.slot = Slot::Empty;
            if self.has(Guard::GapVoidsReads) {
                hub.reading = None;
            }
        }
    }

    pub(super) fn hub_reads(&self, state: &State) -> Option<State> {
        if state.hub.slot == Slot::Known {
            return None;
        }
        let total = self.readable_total(state)?;
        let mut next = *state;
        next.hub.reading = Some((self.version(state)?, total));
        Some(next)
    }

    /// `finish_read`
    pub(super) fn hub_gets_reply(&self, state: &State) -> Option<State> {
        let mut next = *state;
        let (version, total) = next.hub.reading.take()?;
        let is_kept = match state.hub.slot {
            Slot::Known => version > state.hub.sent,
            Slot::Invalidated(since) => version >= since || !self.has(Guard::InvalidationBeatsOlderRead),
            Slot::Empty => true,
        };
        if is_kept {
            self.store(&mut next, version, total);
        }
        Some(next)
    }

    /// The current version of the counter.
    pub(super) fn version(&self, state: &State) -> Option<Version> {
        Some((state.target.epoch, self.live(&state.target)?.change))
    }

    /// The hub stores counts and sends them. The client drops counts that are not newer (`watch::send`).
    fn store(&self, state: &mut State, version: Version, total: i16) {
        state.hub.slot = Slot::Known;
        let (sent, sent_total) = (state.hub.sent, state.hub.sent_total);
        if version > sent {
            let has_lost_target = self.scope.may_lose_folded_offset();
            let is_complete = has_lost_target || self.includes_sent_events(state, sent_total, total);
            let hub = &mut state.hub;
            hub.wrong.taken_back |= !is_complete;
            (hub.sent, hub.sent_total) = (version, total);
        } else if version == sent {
            state.hub.wrong.two_values |= total != sent_total;
        }
    }
}
