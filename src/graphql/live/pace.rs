//! How often a question speaks: at once when it was quiet, at most so often when it is hot, and always the
//! last change. Without clock and timer.

use std::time::Duration;

use tokio::time::Instant;

/// When the next change may be told.
#[derive(Debug)]
pub struct Pace {
    /// Between two tellings.
    interval: Duration,
    told: Option<Instant>,
    /// Whether something changed since.
    waits: bool,
}

impl Pace {
    pub const fn new(interval: Duration) -> Self {
        Self { interval, told: None, waits: false }
    }

    /// Something is to be told.
    pub const fn changed(&mut self) {
        self.waits = true;
    }

    /// When what waits may be told: at once when it was quiet. `None` while nothing waits.
    pub fn due(&self, now: Instant) -> Option<Instant> {
        let earliest = self.told.map_or(now, |told| told + self.interval);
        self.waits.then(|| earliest.max(now))
    }

    /// Whether what waits is told now; then it waits no more.
    pub fn take(&mut self, now: Instant) -> bool {
        let is_due = self.due(now) == Some(now);
        if is_due {
            (self.told, self.waits) = (Some(now), false);
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
    fn a_lone_change_is_told_at_once() {
        let (mut pace, start) = (Pace::new(INTERVAL), Instant::now());
        for minute in 0..3 {
            let now = start + Duration::from_mins(minute);
            assert_eq!(pace.due(now), None);
            pace.changed();
            assert_eq!(pace.due(now), Some(now), "no timer stands in its way");
            assert!(pace.take(now));
            assert!(!pace.take(now), "once");
        }
    }

    #[test]
    fn a_change_that_comes_too_soon_waits_for_the_end_of_the_interval() {
        let (mut pace, start) = (Pace::new(INTERVAL), Instant::now());
        pace.changed();
        assert!(pace.take(start));
        let soon = start + Duration::from_millis(20);
        pace.changed();
        assert!(!pace.take(soon));
        assert_eq!(pace.due(soon), Some(start + INTERVAL));
        assert!(pace.take(start + INTERVAL));
    }

    /// Runs a pace as a question does: woken by each change, and when something is due. Returns the times, in
    /// milliseconds, at which it told something.
    fn told(changes: &[u64]) -> Vec<u64> {
        let (mut pace, start) = (Pace::new(INTERVAL), Instant::now());
        let at = |millis: u64| start + Duration::from_millis(millis);
        let (mut told, mut now, mut changes) = (Vec::new(), 0, changes.iter().copied().peekable());
        loop {
            let due = pace.due(at(now)).map(|due| (due - start).as_millis() as u64);
            now = match (changes.peek().copied(), due) {
                (Some(change), Some(due)) if due <= change => due,
                (Some(change), _) => change,
                (None, Some(due)) => due,
                (None, None) => return told,
            };
            while changes.next_if_eq(&now).is_some() {
                pace.changed();
            }
            if pace.take(at(now)) {
                told.push(now);
            }
        }
    }

    proptest! {
        #[test]
        fn it_is_never_too_fast_and_never_late_and_tells_the_last_change(
            gaps in prop::collection::vec(prop_oneof![0_u64..5, 0_u64..60, 40_u64..200], 1..200)
        ) {
            let changes: Vec<u64> =
                gaps.iter().scan(0, |now, gap| { *now += gap; Some(*now) }).collect();
            let told = told(&changes);
            let interval = INTERVAL.as_millis() as u64;
            for pair in told.windows(2) {
                prop_assert!(pair[1] - pair[0] >= interval, "too fast: {told:?}");
            }
            for change in &changes {
                let after = told.iter().find(|told| *told >= change);
                prop_assert!(after.is_some_and(|told| told - change <= interval), "{change} late: {told:?}");
                let was_quiet = told.iter().all(|told| told >= change || change - told >= interval);
                prop_assert!(!was_quiet || after == Some(change), "{change} had to wait: {told:?}");
            }
            for told in &told {
                let before = |change: &&u64| *change <= told && told - *change <= interval;
                prop_assert!(changes.iter().any(|change| before(&change)), "{told} tells nothing");
            }
        }
    }
}
