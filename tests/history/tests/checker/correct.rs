//! Histories of a correct service have no violations, whatever was lost.

use std::time::Instant;

use proptest::prelude::*;

use crate::simulation::{Options, simulate};

fn options() -> impl Strategy<Value = Options> {
    let sizes = (50..600usize, 1..10usize, 1..6i64, 1..5i64, 1..4usize);
    let faults =
        (prop_oneof![Just(0.0), 0.0..0.3], 0.0..1.0, 0..4usize, prop_oneof![3 => Just(0), 1 => 1..3usize]);
    (any::<u64>(), sizes, faults).prop_map(|(seed, sizes, (lost, keyed, hidings, losses))| {
        let (steps, clients, actors, notes, sources) = sizes;
        // What a loss does to somebody who is hidden is not simulated.
        let hidings = if losses > 0 { 0 } else { hidings };
        Options { seed, steps, clients, actors, notes, sources, lost, keyed, hidings, losses, bug: None }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_correct_service_has_no_violation(options in options()) {
        let report = simulate(options).check();
        prop_assert!(report.violations.is_empty(), "{report}");
    }
}

#[test]
fn a_history_of_100000_operations_has_no_violation() {
    let options = Options {
        steps: 35_000,
        clients: 60,
        actors: 50,
        notes: 40,
        sources: 4,
        lost: 0.01,
        hidings: 2,
        ..Options::new(1)
    };
    let simulated = simulate(options);
    let start = Instant::now();
    let report = simulated.check();
    println!("{report}, checked in {:.1?}", start.elapsed());
    assert!(report.operations >= 100_000 && report.violations.is_empty(), "{report}");
}
