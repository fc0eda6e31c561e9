//! Entries as releases wrote them, which every later one must read.

use super::Event;
use crate::EdgeKind;

/// Each line: an entry, and the counters that it moves.
const EVENTS: &str = include_str!("../../../tests/golden/events.txt");

fn moves(event: &Event) -> String {
    let moves =
        event.deltas().map(|(entity, counter, delta)| format!("{entity} {} {delta:+}", counter.name()));
    moves.collect::<Vec<_>>().join(", ")
}

#[test]
fn entries_of_all_releases_are_read_and_move_what_they_moved() {
    let lines = EVENTS.lines().filter(|line| !line.starts_with('#'));
    for line in lines {
        let (text, moved) = line.split_once(" =>").unwrap();
        let event = Event::decode(text);
        assert!(!matches!(event, Event::Unreadable(_)), "{text}");
        assert_eq!(moves(&event), moved.trim_start(), "{text}");
    }
}

#[test]
fn all_kinds_of_entries_that_this_release_writes_are_among_them() {
    let has = |start: String| EVENTS.lines().any(|line| line.starts_with(&start));
    for kind in EdgeKind::ALL {
        assert!(has(format!("1 {} ", kind.name())), "tests/golden/events.txt lacks {}", kind.name());
    }
    assert!(has("1 views ".into()) && has("genesis ".into()));
}
