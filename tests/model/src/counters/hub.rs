//! A hub with one client (`src/counting/hub/view/mod.rs`, `src/counting/hub/watch.rs`). The client watches the counter, so the hub
//! reads a counter until it has it.

use super::{
    Action, Counters, Guard, Message,
    state::{Content, Held, State, Version},
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

    /// Publishes a message on the target's channel.
    pub(super) fn publish(&self, state: &mut State, change: u8, content: Content, message: Message) {
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
        let newest = match state.hub.held {
            Held::Known => state.hub.sent,
            Held::Unknown { received, .. } => received,
            Held::Empty => (0, 0),
        };
        if version > newest {
            self.receive(state, version, content);
        }
    }

    /// `HeldCounts::changed`
    fn receive(&self, state: &mut State, version: Version, content: Content) {
        let unknown = Held::Unknown { since: version, received: version, total: None };
        match (content, state.hub.held) {
            (Content::All(total), _) | (Content::Moved(total), Held::Known) => {
                self.store(state, version, total);
            }
            (Content::Moved(total), Held::Unknown { since, .. }) => {
                state.hub.held = Held::Unknown { since, received: version, total: Some(total) };
            }
            (Content::Moved(_), Held::Empty) | (Content::Invalidated, _) => state.hub.held = unknown,
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
            hub.held = Held::Empty;
            if self.has(Guard::GapVoidsReads) {
                hub.reading = None;
            }
        }
    }

    pub(super) fn hub_reads(&self, state: &State) -> Option<State> {
        if state.hub.held == Held::Known {
            return None;
        }
        let total = self.readable_total(state)?;
        let mut next = *state;
        next.hub.reading = Some((self.version(state)?, total));
        if next.hub.held == Held::Empty {
            next.hub.held = Held::Unknown { since: (0, 0), received: (0, 0), total: None };
        }
        Some(next)
    }

    /// `finish_read`
    pub(super) fn hub_gets_reply(&self, state: &State) -> Option<State> {
        let mut next = *state;
        let (version, total) = next.hub.reading.take()?;
        match state.hub.held {
            Held::Known if version <= state.hub.sent => {}
            Held::Unknown { since, .. } if version < since && self.has(Guard::InvalidationBeatsOlderRead) => {
            }
            Held::Unknown { received, total: Some(moved), .. }
                if version < received && self.has(Guard::ReceivedTotalsAreApplied) =>
            {
                self.store(&mut next, received, moved);
            }
            Held::Known | Held::Unknown { .. } | Held::Empty => self.store(&mut next, version, total),
        }
        Some(next)
    }

    /// The current version of the counter.
    pub(super) fn version(&self, state: &State) -> Option<Version> {
        Some((state.target.epoch, self.live(&state.target)?.change))
    }

    /// The hub stores counts and sends them. The client drops counts that are not newer (`watch::send`).
    fn store(&self, state: &mut State, version: Version, total: i16) {
        state.hub.held = Held::Known;
        let (sent, sent_total) = (state.hub.sent, state.hub.sent_total);
        if version > sent {
            let is_complete = self.includes_sent_events(state, sent_total, total);
            let hub = &mut state.hub;
            hub.wrong.taken_back |= !is_complete;
            (hub.sent, hub.sent_total) = (version, total);
        } else if version == sent {
            state.hub.wrong.two_values |= total != sent_total;
        }
    }
}
