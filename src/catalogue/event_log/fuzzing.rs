//! Properties that hold for any bytes in the log, for fuzzing.

use super::{Event, entry::GENESIS};

/// Decoding never fails. An event's text decodes to the same event, and unreadable text is kept unchanged.
pub fn events(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let event = Event::decode(&text);
    let written = event.to_string();
    assert_eq!(Event::decode(&written), event);
    match event {
        Event::Unreadable(_) => assert_eq!(written, text),
        Event::Genesis => assert_eq!(text, GENESIS),
        Event::Flip(_) | Event::OffAgain(_) | Event::Views { .. } => {
            assert!(event.deltas().next().is_some(), "{text}")
        }
    }
}
