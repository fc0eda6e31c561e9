//! How far a replica is behind PostgreSQL.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use super::timeline::Timeline;

/// How far the replica may be behind PostgreSQL.
pub(crate) const MOST_LAG: Duration = Duration::from_secs(10);

/// A place in PostgreSQL's log, in bytes.
pub(crate) type Lsn = i64;

/// How far both are. Reads go to the replica only while it is known to be near.
#[derive(Default)]
pub(crate) struct ReplicaProgress {
    /// Where PostgreSQL was, and when; the oldest first. The first one is [`MOST_LAG`] old, if any is.
    places: VecDeque<(Instant, Lsn)>,
    /// What the replica has replayed, and the timeline of its rows; `None` while it does not answer, or is no replica.
    pub replayed: Option<(Lsn, Option<Timeline>)>,
}

impl ReplicaProgress {
    pub fn primary_was_at(&mut self, now: Instant, place: Lsn) {
        self.places.push_back((now, place));
        while self.places.get(1).is_some_and(|(at, _)| now.duration_since(*at) >= MOST_LAG) {
            self.places.pop_front();
        }
    }

    /// Whether the replica has replayed what PostgreSQL had [`MOST_LAG`] ago, on `timeline`. Within that time of the
    /// start it must have replayed what PostgreSQL had then.
    pub fn is_near(&self, timeline: Option<Timeline>) -> bool {
        match (self.places.front(), self.replayed) {
            (Some((_, place)), Some((replayed, of))) => replayed >= *place && of.is_some() && of == timeline,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline() -> Option<Timeline> {
        Timeline::parse("00000001")
    }

    fn replayed(place: Lsn) -> Option<(Lsn, Option<Timeline>)> {
        Some((place, timeline()))
    }

    #[test]
    fn a_replica_is_near_if_it_has_replayed_what_postgresql_had_ten_seconds_ago() {
        let (start, mut progress) = (Instant::now(), ReplicaProgress::default());
        assert!(!progress.is_near(timeline()), "nothing is known of it");
        for second in 0..=30 {
            progress.primary_was_at(start + Duration::from_secs(second), 100 * second as i64);
        }
        for (place, is_near) in [(1_999, false), (2_000, true), (3_000, true)] {
            progress.replayed = replayed(place);
            assert_eq!(progress.is_near(timeline()), is_near, "{place}");
        }
        assert_eq!(progress.places.len(), 11);
        progress.replayed = None;
        assert!(!progress.is_near(timeline()), "it does not answer");
    }

    #[test]
    fn a_replica_of_another_timeline_is_not_near() {
        let mut progress = ReplicaProgress { replayed: replayed(5), ..ReplicaProgress::default() };
        progress.primary_was_at(Instant::now(), 5);
        assert!(progress.is_near(timeline()));
        assert!(!progress.is_near(Timeline::parse("00000002")));
        progress.replayed = Some((5, None));
        assert!(!progress.is_near(None), "PostgreSQL's is not known yet");
    }
}
