//! Model of the replies with `redis_replicas`: the property holds, and fails in a run without any one guard.

use std::time::Duration;

use plaudit_model::{
    check::{Bound, explore},
    replies::{Guard, Replies},
};

const BOUND: Bound = Bound { states: 20_000_000, time: Duration::from_secs(300) };

#[test]
fn a_success_survives_a_failover_whatever_a_former_master_and_late_readers_do() {
    let findings = explore(Replies::default(), BOUND);
    println!("{findings}");
    assert!(findings.is_exhaustive, "{findings}");
}

#[test]
fn without_any_one_guard_the_property_fails() {
    for guard in Guard::ALL {
        let findings = explore(Replies { without: vec![*guard] }, BOUND);
        println!("{guard:?}: {findings}");
        assert!(findings.failure.is_some(), "{guard:?} is not needed: {findings}");
    }
}
