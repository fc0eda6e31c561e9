//! Pace of a shared subscription: sends at once after a quiet interval, otherwise once per interval, and always the
//! last change. Reads no clock and sets no timer.

use std::time::Duration;

use tokio::time::Instant;

/// When the next message may be sent.
#[derive(Debug)]
pub struct MessagePace {
    /// Shortest time between two messages.
    interval: Duration,
    sent: Option<Instant>,
    /// No message is sent before, because the last one cost much.
    held_until: Option<Instant>,
    /// Whether something changed since the last message.
    is_pending: bool,
}

impl MessagePace {
    pub const fn new(interval: Duration) -> Self {
        Self { interval, sent: None, held_until: None, is_pending: false }
    }

    /// Sends no message before this moment.
    pub fn hold(&mut self, until: Instant) {
        self.held_until = self.held_until.max(Some(until));
    }

    /// Notes a change.
    pub const fn changed(&mut self) {
        self.is_pending = true;
    }

    /// When the pending message may be sent: now if the last interval was quiet. `None` if nothing is pending.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        let earliest = self.sent.map(|sent| sent + self.interval).max(self.held_until);
        self.is_pending.then(|| earliest.map_or(now, |earliest| earliest.max(now)))
    }

    /// Returns whether the pending message is due, and marks it as sent.
    pub fn take(&mut self, now: Instant) -> bool {
        let is_due = self.due(now) == Some(now);
        if is_due {
            (self.sent, self.is_pending) = (Some(now), false);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const INTERVAL: Duration = Duration::from_millis(50);

    #[test]
    fn a_single_change_is_sent_at_once() {
        let (mut pace, start) = (MessagePace::new(INTERVAL), Instant::now());
        for minute in 0..3 {
            let now = start + Duration::from_mins(minute);
            assert_eq!(pace.due(now), None);
            pace.changed();
            assert_eq!(pace.due(now), Some(now), "without a timer");
            assert!(pace.take(now));
            assert!(!pace.take(now), "once");
        }
    }

    #[test]
    fn a_second_change_waits_for_the_end_of_the_interval() {
        let (mut pace, start) = (MessagePace::new(INTERVAL), Instant::now());
        pace.changed();
        assert!(pace.take(start));
        let soon = start + Duration::from_millis(20);
        pace.changed();
        assert!(!pace.take(soon));
        assert_eq!(pace.due(soon), Some(start + INTERVAL));
        assert!(pace.take(start + INTERVAL));
    }

    #[test]
    fn a_message_that_cost_much_holds_up_the_next_one_and_loses_none() {
        let (mut pace, start) = (MessagePace::new(INTERVAL), Instant::now());
        pace.changed();
        assert!(pace.take(start));
        pace.hold(start + 3 * INTERVAL);
        pace.hold(start + INTERVAL);
        pace.changed();
        assert!(!pace.take(start + 2 * INTERVAL));
        assert_eq!(pace.due(start + 2 * INTERVAL), Some(start + 3 * INTERVAL));
        assert!(pace.take(start + 3 * INTERVAL));
    }

    /// Runs a pace as a shared subscription does: woken by each change, and when a message is due. Returns the times
    /// of messages, in milliseconds.
    fn sent(changes: &[u64]) -> Vec<u64> {
        let (mut pace, start) = (MessagePace::new(INTERVAL), Instant::now());
        let at = |millis: u64| start + Duration::from_millis(millis);
        let (mut sent, mut now, mut changes) = (Vec::new(), 0, changes.iter().copied().peekable());
        loop {
            let due = pace.due(at(now)).map(|due| (due - start).as_millis() as u64);
            now = match (changes.peek().copied(), due) {
                (Some(change), Some(due)) if due <= change => due,
                (Some(change), _) => change,
                (None, Some(due)) => due,
                (None, None) => return sent,
            };
            while changes.next_if_eq(&now).is_some() {
                pace.changed();
            }
            if pace.take(at(now)) {
                sent.push(now);
            }
        }
    }

    proptest! {
        #[test]
        fn messages_are_never_too_close_never_late_and_include_the_last_change(
            gaps in prop::collection::vec(prop_oneof![0_u64..5, 0_u64..60, 40_u64..200], 1..200)
        ) {
            let changes: Vec<u64> =
                gaps.iter().scan(0, |now, gap| { *now += gap; Some(*now) }).collect();
            let sent = sent(&changes);
            let interval = INTERVAL.as_millis() as u64;
            for pair in sent.windows(2) {
                prop_assert!(pair[1] - pair[0] >= interval, "too fast: {sent:?}");
            }
            for change in &changes {
                let after = sent.iter().find(|sent| *sent >= change);
                prop_assert!(after.is_some_and(|sent| sent - change <= interval), "{change} late: {sent:?}");
                let was_quiet = sent.iter().all(|sent| sent >= change || change - sent >= interval);
                prop_assert!(!was_quiet || after == Some(change), "{change} had to wait: {sent:?}");
            }
            for sent in &sent {
                let before = |change: &&u64| *change <= sent && sent - *change <= interval;
                prop_assert!(changes.iter().any(|change| before(&change)), "{sent} follows no change");
            }
        }
    }
}
