//! Time limits of a connection: `connection_init`, the token's expiry, and pings that detect a dead client. One timer
//! serves all of them.

use std::time::Duration;

use chrono::{DateTime, Utc};
use tokio::time::Instant;

pub struct Deadlines {
    /// When `connection_init` must have arrived; `None` once it has.
    init: Option<Instant>,
    /// When the token expires; `None` without a token.
    expiry: Option<Instant>,
    /// When the next ping is sent.
    ping: Instant,
    between_pings: Duration,
    /// A ping was sent, and nothing has arrived since.
    is_silent: bool,
}

/// Which deadline has passed.
#[derive(PartialEq, Eq, Debug)]
pub enum Due {
    InitTimeout,
    TokenExpiry,
    /// Nothing arrived between two pings.
    Dead,
    Ping,
    Nothing,
}

impl Deadlines {
    pub fn new(init_wait: Duration, between_pings: Duration, now: Instant) -> Self {
        let (init, ping) = (Some(now + init_wait), now + between_pings);
        Self { init, expiry: None, ping, between_pings, is_silent: false }
    }

    pub fn initialised(&mut self, token_ends: Option<DateTime<Utc>>) {
        self.init = None;
        self.expiry = token_ends.map(until);
    }

    /// The client is alive.
    pub const fn message_received(&mut self) {
        self.is_silent = false;
    }

    pub fn earliest(&self) -> Instant {
        let others = [self.init, self.expiry].into_iter().flatten();
        others.fold(self.ping, Instant::min)
    }

    pub fn due(&mut self, now: Instant) -> Due {
        let is_past = |deadline: Option<Instant>| deadline.is_some_and(|deadline| deadline <= now);
        if is_past(self.init) {
            Due::InitTimeout
        } else if is_past(self.expiry) {
            Due::TokenExpiry
        } else if self.ping > now {
            Due::Nothing
        } else if self.is_silent {
            Due::Dead
        } else {
            (self.ping, self.is_silent) = (now + self.between_pings, true);
            Due::Ping
        }
    }
}

/// Converts `end` to a monotonic instant, which a change of the system clock does not move.
pub fn until(end: DateTime<Utc>) -> Instant {
    Instant::now() + (end - Utc::now()).to_std().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_client_that_answers_pings_stays_connected_and_one_that_does_not_is_dead_at_the_next_ping() {
        let began = Instant::now();
        let mut deadlines = Deadlines::new(30 * SECOND, 10 * SECOND, began);
        deadlines.initialised(None);
        assert_eq!(deadlines.earliest(), began + 10 * SECOND);
        assert_eq!(deadlines.due(began + 9 * SECOND), Due::Nothing);
        assert_eq!(deadlines.due(began + 10 * SECOND), Due::Ping);
        deadlines.message_received();
        assert_eq!(deadlines.due(began + 20 * SECOND), Due::Ping);
        assert_eq!(deadlines.due(began + 29 * SECOND), Due::Nothing);
        assert_eq!(deadlines.due(began + 30 * SECOND), Due::Dead);
    }

    #[test]
    fn a_connection_that_is_not_initialised_in_time_is_closed() {
        let began = Instant::now();
        let mut deadlines = Deadlines::new(3 * SECOND, 10 * SECOND, began);
        assert_eq!(deadlines.earliest(), began + 3 * SECOND);
        assert_eq!(deadlines.due(began + 3 * SECOND), Due::InitTimeout);
        deadlines.initialised(None);
        assert_eq!(deadlines.due(began + 4 * SECOND), Due::Nothing);
    }

    #[test]
    fn a_connection_lasts_until_its_token_expires() {
        let began = Instant::now();
        let mut deadlines = Deadlines::new(SECOND, 100 * SECOND, began);
        deadlines.initialised(Some(Utc::now() + 20 * SECOND));
        assert_eq!(deadlines.due(began + 19 * SECOND), Due::Nothing);
        assert_eq!(deadlines.due(began + 21 * SECOND), Due::TokenExpiry);
    }
}
