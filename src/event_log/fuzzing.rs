//! What holds for any bytes in the log.

use super::{Event, entry::GENESIS};

/// Nothing stops the log; what was read is written so that the same is read; what was not, is kept as it is.
pub fn events(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let event = Event::decode(&text);
    let written = event.to_string();
    assert_eq!(Event::decode(&written), event);
    match event {
        Event::Unreadable(_) => assert_eq!(written, text),
        Event::Genesis => assert_eq!(text, GENESIS),
        Event::Flip(_) | Event::Views { .. } => assert!(event.deltas().next().is_some(), "{text}"),
    }
}
