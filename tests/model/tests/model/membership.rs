//! Model of membership: the properties hold in every run, and fail in a run without any one guard.

use std::{collections::BTreeSet, time::Duration};

use plaudit_model::{
    check::{Bound, explore, for_each},
    membership::{
        Fault::{self, *},
        Guard::{self, *},
        Membership,
    },
};

const BOUND: Bound = Bound { states: 60_000_000, time: Duration::from_secs(600) };

fn run(faults: &'static [Fault], flips: u8) -> Membership {
    Membership { faults, without: Vec::new(), records_off: false, flips, loads: 1 }
}

fn runs() -> Vec<Membership> {
    vec![
        Membership { loads: 2, ..run(&[], 3) },
        run(&[FlushAll], 2),
        run(&[Failover], 2),
        run(&[PowerLoss], 2),
        run(&[PostgresFailover], 2),
        Membership { records_off: true, ..run(&[], 3) },
        Membership { records_off: true, ..run(&[PowerLoss], 2) },
        Membership { records_off: true, ..run(&[PostgresFailover], 2) },
    ]
}

/// Guards whose absence causes no violation. `InstallOfGeneration`: rows of an earlier generation were also read before
/// the last retirement, so `InstallNotBeforeRetired` refuses them.
const NOT_NEEDED: &[Guard] = &[InstallOfGeneration];

fn needs() -> Vec<(Guard, Membership)> {
    vec![
        (FlipWritesSet, run(&[], 2)),
        (PendingBeforeRow, run(&[], 3)),
        (PendingOfGeneration, run(&[PowerLoss], 2)),
        (SetOfGeneration, run(&[PowerLoss], 2)),
        (FloorAsksPostgres, run(&[], 1)),
        (RowNotBeforeRetired, run(&[], 3)),
        (InstallNotBeforeRetired, run(&[], 3)),
        (InstallAppliesPending, run(&[], 3)),
        (RetireWritesPosition, run(&[PostgresFailover], 2)),
        (RetireUpToPosition, run(&[], 3)),
        (RetireWritesNewest, run(&[], 2)),
        (NewestOfGeneration, run(&[PowerLoss], 2)),
        (RecoveredProcess, run(&[PowerLoss], 3)),
        (RecoveryFences, run(&[PowerLoss], 3)),
        (KeyAnswersFirst, run(&[], 2)),
    ]
}

#[test]
fn membership_is_exact() {
    all_hold(&runs());
}

#[test]
#[ignore = "takes minutes: `make model`"]
fn membership_is_exact_for_more_loads_and_flips() {
    all_hold(&[
        Membership { loads: 2, ..run(&[FlushAll], 2) },
        Membership { loads: 2, ..run(&[PostgresFailover], 2) },
        run(&[FlushAll], 3),
    ]);
}

#[test]
fn every_guard_of_membership_is_needed() {
    let needs = needs();
    let without = |guard: Guard, model: &Membership| Membership { without: vec![guard], ..model.clone() };
    let findings = for_each(&needs, |(guard, model)| explore(without(*guard, model), BOUND));
    for ((guard, model), findings) in needs.iter().zip(&findings) {
        println!("{guard:?}, {:?}, {} flips: {findings}", model.faults, model.flips);
    }
    let not_needed: Vec<Guard> = needs
        .iter()
        .zip(&findings)
        .filter(|(_, findings)| findings.failure.is_none())
        .map(|((guard, _), _)| *guard)
        .collect();
    assert!(not_needed.is_empty(), "nothing fails without these guards: {not_needed:?}");
}

#[test]
fn membership_is_exact_without_the_guards_that_are_not_needed() {
    let model = run(&[PowerLoss], 2);
    all_hold(&[Membership { without: NOT_NEEDED.to_vec(), ..model }]);
}

#[test]
fn the_tables_name_every_guard_and_every_fault() {
    let named: BTreeSet<Guard> =
        needs().iter().map(|(guard, _)| *guard).chain(NOT_NEEDED.iter().copied()).collect();
    assert_eq!(named.into_iter().collect::<Vec<_>>(), Guard::ALL);
    for fault in Fault::ALL {
        assert!(runs().iter().any(|model| model.faults.contains(fault)), "{fault:?} is in no run");
    }
}

fn all_hold(models: &[Membership]) {
    let findings = for_each(models, |model| explore(model.clone(), BOUND));
    for (Membership { faults, flips, .. }, findings) in models.iter().zip(&findings) {
        println!("{faults:?}, {flips} flips: {findings}");
    }
    for (Membership { faults, flips, .. }, findings) in models.iter().zip(&findings) {
        assert!(findings.failure.is_none(), "{faults:?}, {flips} flips: {findings}");
        assert!(findings.is_exhaustive, "{faults:?}, {flips} flips: not exhaustive: {findings}");
    }
}
