//! Model of what a process keeps: the properties hold, and fail in a run without any one guard.

use std::time::Duration;

use plaudit_model::{
    check::{Bound, explore},
    keeping::{Guard, Keeping},
};

const BOUND: Bound = Bound { states: 60_000_000, time: Duration::from_secs(600) };

fn run(without: Vec<Guard>) -> Keeping {
    Keeping { changes: 3, interruptions: 2, without }
}

#[test]
fn whatever_changes_and_whichever_messages_are_late_or_lost_nothing_outdated_is_shown() {
    let findings = explore(run(Vec::new()), BOUND);
    println!("{findings}");
    assert!(findings.is_exhaustive, "{findings}");
}

#[test]
fn without_any_one_guard_a_property_fails() {
    for guard in Guard::ALL {
        let findings = explore(run(vec![*guard]), BOUND);
        assert!(findings.failure.is_some(), "{guard:?} is not needed: {findings}");
    }
}
