//! Model of the sharing of shards: the properties hold, and fail in a run without any one guard.

use std::time::Duration;

use plaudit_model::{
    check::{Bound, explore},
    sharing::{Guard, Sharing},
};

const BOUND: Bound = Bound { states: 60_000_000, time: Duration::from_secs(600) };

#[test]
fn whoever_comes_goes_or_is_killed_shards_are_shared_evenly_and_all_are_led() {
    let findings = explore(Sharing { events: 3, without: Vec::new() }, BOUND);
    println!("{findings}");
    assert!(findings.is_exhaustive, "{findings}");
}

#[test]
fn without_any_one_guard_a_property_fails() {
    for guard in Guard::ALL {
        let findings = explore(Sharing { events: 3, without: vec![*guard] }, BOUND);
        assert!(findings.failure.is_some(), "{guard:?} is not needed: {findings}");
    }
}
