//! Cursors of the stream of events.

use std::{fmt, str::FromStr};

/// An event in the stream: a reader continues after it. As text it is opaque to clients: 40 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct EventCursor {
    /// Identifies the installation: half of its id.
    pub installation: u64,
    /// The timeline of PostgreSQL on which the event was written.
    pub timeline: i32,
    pub position: i64,
}

/// Digits of the installation, the timeline and the position.
const DIGITS: [usize; 3] = [16, 8, 16];

#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a cursor of an event: 40 hexadecimal digits")]
pub struct ParseEventCursorError;

impl fmt::Display for EventCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}{:08x}{:016x}", self.installation, self.timeline, self.position)
    }
}

impl FromStr for EventCursor {
    type Err = ParseEventCursorError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != DIGITS.iter().sum::<usize>() || !text.bytes().all(is_digit) {
            return Err(ParseEventCursorError);
        }
        let (installation, rest) = text.split_at(DIGITS[0]);
        let (timeline, position) = rest.split_at(DIGITS[1]);
        let number = |digits| u64::from_str_radix(digits, 16).map_err(|_| ParseEventCursorError);
        let cursor = Self {
            installation: number(installation)?,
            timeline: i32::try_from(number(timeline)?).map_err(|_| ParseEventCursorError)?,
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
            installation: u64, timeline in 0..i32::MAX, position in 0..i64::MAX,
        ) {
            let cursor = EventCursor { installation, timeline, position };
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
        for text in ["", &"f".repeat(40), &"0".repeat(39), &"0".repeat(41), &"G".repeat(40), &"ä".repeat(20)]
        {
            assert_eq!(text.parse::<EventCursor>(), Err(ParseEventCursorError), "{text}");
        }
    }
}
