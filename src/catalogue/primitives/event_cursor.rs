//! Cursors of the stream of events.

use std::{fmt, str::FromStr};

use chrono::{DateTime, Utc};

/// An event in the stream: a reader continues after it. As text it is opaque to clients: 48 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EventCursor {
    /// Identifies the installation: half of its id.
    pub installation: u64,
    /// When its transaction began, in microseconds since 1970: what was lost by a failover may leave its position to
    /// another event.
    pub written_at: i64,
    pub position: i64,
}

/// Digits of each number.
const DIGITS: usize = 16;

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a cursor of an event: 48 hexadecimal digits")]
pub struct ParseEventCursorError;

impl EventCursor {
    /// When its transaction began.
    pub fn time(self) -> DateTime<Utc> {
        DateTime::from_timestamp_micros(self.written_at).unwrap_or_default()
    }
}

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:016x}{:016x}", self.installation, self.written_at, self.position)
    }
}

impl FromStr for EventCursor {
    type Err = ParseEventCursorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != 3 * DIGITS || !text.bytes().all(is_digit) {
            return Err(ParseEventCursorError);
        }
        let (installation, rest) = text.split_at(DIGITS);
        let (written_at, position) = rest.split_at(DIGITS);
        let number = |digits| u64::from_str_radix(digits, 16).map_err(|_| ParseEventCursorError);
        let cursor = Self {
            installation: number(installation)?,
            written_at: i64::try_from(number(written_at)?).map_err(|_| ParseEventCursorError)?,
            position: i64::try_from(number(position)?).map_err(|_| ParseEventCursorError)?,
        };
        Ok(cursor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_cursor_reads_back_as_it_was_written(
            installation: u64, written_at in 0..i64::MAX, position in 0..i64::MAX,
        ) {
            let cursor = EventCursor { installation, written_at, position };
            prop_assert_eq!(cursor.to_string().parse(), Ok(cursor));
        }

        #[test]
        fn any_other_text_is_refused(text in ".{0,60}") {
            if let Ok(cursor) = text.parse::<EventCursor>() {
                prop_assert_eq!(cursor.to_string(), text);
            }
        }
    }

    #[test]
    fn numbers_that_no_event_has_are_refused() {
        for text in ["", &"f".repeat(48), &"0".repeat(47), &"0".repeat(49), &"G".repeat(48), &"ä".repeat(24)]
        {
            assert_eq!(text.parse::<EventCursor>(), Err(ParseEventCursorError), "{text}");
        }
    }
}
