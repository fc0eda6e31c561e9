//! The counters' model holds in every run, and fails in the run of each guard when that guard is left out.

use std::{collections::BTreeSet, time::Duration};

use plaudit_model::{
    check::{Bound, Findings, explore, for_each},
    counters::{
        Counters,
        Fault::{self, *},
        Guard::{self, *},
        Scope,
    },
};

/// Far more than any run below needs: a run that reaches it was not exhaustive, and fails.
const BOUND: Bound = Bound { states: 60_000_000, time: Duration::from_secs(600) };

fn run(faults: &[Fault]) -> Scope {
    Scope::new(faults)
}

fn without_faults() -> Vec<Scope> {
    vec![
        run(&[]).with_direct_change(),
        run(&[]).in_small_steps(),
        run(&[]).with_hub().events(2, 1),
        run(&[]).with_hub().with_direct_change().events(1, 1),
    ]
}

fn with_one_fault() -> Vec<Scope> {
    vec![
        run(&[Expiry]),
        run(&[Expiry]).with_hub().with_direct_change().events(1, 1),
        run(&[Mismatch]).with_direct_change(),
        run(&[Mismatch]).in_small_steps().events(2, 1),
        run(&[Mismatch]).with_hub().events(1, 1),
        run(&[CallDelayed]).in_small_steps().events(2, 1),
        run(&[OwnerKilled]).in_small_steps(),
        run(&[TargetOwnerKilled]).with_direct_change(),
        run(&[TargetOwnerKilled]).with_hub().with_direct_change().events(1, 1),
        run(&[TargetFailover]),
        run(&[TargetFailover]).in_small_steps().events(2, 1),
        run(&[TargetFailover]).with_hub().events(1, 1),
        run(&[FlushAll]),
        run(&[FlushAll]).in_small_steps().events(2, 1),
        run(&[FlushAll]).with_hub().events(1, 0),
        run(&[SourceFailover]),
        run(&[SourceFailover]).in_small_steps().events(2, 1),
        run(&[SourceFailover]).with_hub().events(1, 1),
        run(&[LogLost]),
        run(&[LogLost]).in_small_steps().events(2, 1),
        run(&[LogLost]).with_hub().events(1, 1),
        run(&[RedisFailover]).events(2, 1),
        run(&[RedisFailover]).in_small_steps().events(1, 1),
        run(&[RedisFailover]).in_small_steps().events(2, 0),
        run(&[RedisFailover]).with_hub().events(1, 0),
        run(&[PostgresFailover]).events(2, 1),
        run(&[PostgresFailover]).with_direct_change().events(1, 0),
        run(&[PostgresFailover]).in_small_steps().events(2, 0),
        run(&[PostgresFailover]).with_hub().events(1, 1),
        run(&[PostgresRestored]),
        run(&[PostgresRestored]).in_small_steps().events(1, 1),
        run(&[PostgresRestored]).with_hub().events(1, 1),
    ]
}

fn with_two_faults() -> Vec<Scope> {
    vec![
        run(&[OwnerKilled, Mismatch]).in_small_steps().events(2, 1),
        run(&[OwnerKilled, SourceFailover]).in_small_steps().events(1, 0),
        run(&[OwnerKilled, PostgresFailover]).in_small_steps().events(1, 0),
        run(&[CallDelayed, SourceFailover]).in_small_steps().events(1, 0),
        run(&[CallDelayed, PostgresFailover]).in_small_steps().events(1, 0),
        run(&[TargetFailover, SourceFailover]).events(2, 0),
        run(&[TargetFailover, PostgresFailover]).events(2, 0),
        run(&[TargetFailover, PostgresFailover]).with_hub().events(1, 0),
        run(&[TargetOwnerKilled, TargetFailover]).events(2, 1),
        run(&[TargetOwnerKilled, PostgresFailover]).events(1, 1),
        run(&[SourceFailover, PostgresFailover]).events(1, 0),
        run(&[Mismatch, PostgresFailover]).events(1, 1),
        run(&[Expiry, PostgresFailover]).events(1, 1),
    ]
}

/// Larger runs: minutes, and some gigabytes of memory.
fn deeper() -> Vec<Scope> {
    vec![
        run(&[]).with_hub().with_direct_change().events(2, 1),
        run(&[OwnerKilled]).in_small_steps().with_direct_change(),
        run(&[CallDelayed]).in_small_steps(),
        run(&[Expiry]).with_hub().with_direct_change().events(2, 1),
        run(&[TargetFailover]).with_direct_change(),
        run(&[TargetFailover]).with_hub().events(2, 1),
        run(&[FlushAll]).with_direct_change(),
        run(&[FlushAll]).with_hub().events(1, 1),
        run(&[SourceFailover]).in_small_steps(),
        run(&[SourceFailover]).with_hub().events(2, 1),
        run(&[RedisFailover]),
        run(&[RedisFailover]).in_small_steps().events(2, 1),
        run(&[RedisFailover]).with_hub().events(1, 1),
        run(&[PostgresFailover]),
        run(&[PostgresFailover]).with_direct_change().events(1, 1),
        run(&[PostgresFailover]).in_small_steps().events(2, 1),
        run(&[PostgresFailover]).with_hub().events(2, 1),
        run(&[PostgresRestored]).in_small_steps().events(2, 1),
        run(&[OwnerKilled, SourceFailover]).in_small_steps().events(1, 1),
        run(&[OwnerKilled, PostgresFailover]).in_small_steps().events(1, 1),
        run(&[SourceFailover, PostgresFailover]).events(1, 1),
        run(&[TargetFailover, SourceFailover]).events(1, 1),
        run(&[TargetFailover, SourceFailover]).with_hub().events(1, 0),
    ]
}

/// A run that fails without a guard.
struct Need {
    guard: Guard,
    /// Guards that stand behind it: they are left out as well, and with them alone missing nothing fails.
    behind: &'static [Guard],
    scope: Scope,
}

fn need(guard: Guard, scope: Scope) -> Need {
    Need { guard, behind: &[], scope }
}

fn needs() -> Vec<Need> {
    let small = |faults: &[Fault]| run(faults).in_small_steps().events(2, 1);
    let direct = |faults: &[Fault]| run(faults).with_direct_change().events(2, 1);
    let plain = |faults: &[Fault]| run(faults).events(2, 1);
    let hub = |faults: &[Fault]| run(faults).with_hub().events(1, 1);
    vec![
        need(FoldFromPosition, small(&[CallDelayed])),
        need(FoldOfEpoch, small(&[CallDelayed, RedisFailover]).events(2, 0)),
        need(FenceInRedis, small(&[OwnerKilled, SourceFailover])),
        need(FenceInSql, small(&[OwnerKilled, SourceFailover]).events(2, 0)),
        need(PersistFromOffset, small(&[CallDelayed])),
        need(RetireFromPosition, small(&[CallDelayed])),
        need(RetireAfterFold, small(&[PostgresFailover])),
        need(RetireReadsAll, plain(&[SourceFailover])),
        Need {
            guard: RetireOfEpoch,
            behind: &[RetireFromPosition],
            scope: small(&[TargetFailover]).events(2, 0),
        },
        need(RetireTakesToken, plain(&[])),
        need(InstallWithToken, plain(&[])),
        need(InstallInEpoch, plain(&[FlushAll])),
        need(InstallOfTimeline, direct(&[PostgresFailover]).events(1, 0)),
        need(LoadNotBeforeRetired, plain(&[PostgresRestored])),
        need(InstallNotAheadOfFold, plain(&[])),
        need(InstallNotIntoPending, plain(&[])),
        need(InstallAfterFoldedBeforeReset, hub(&[PostgresFailover])),
        need(InstallTakesVersion, hub(&[]).with_direct_change()),
        need(InvalidationTakesToken, direct(&[])),
        need(InvalidationIsSent, hub(&[]).with_direct_change()),
        need(InvalidateBeforeDelete, direct(&[TargetOwnerKilled])),
        need(DeleteOwnInvalidations, direct(&[Mismatch])),
        need(InvalidationIdsNeverReused, plain(&[Mismatch, PostgresFailover]).events(1, 0)),
        need(MismatchInvalidates, plain(&[Mismatch])),
        need(EpochAfterMissingMeta, hub(&[FlushAll])),
        need(RecoveredTarget, hub(&[TargetFailover])),
        need(RecoveredLog, plain(&[SourceFailover])),
        need(EpochAfterTimeline, plain(&[PostgresFailover])),
        need(EpochAfterLogLoss, plain(&[SourceFailover])),
        Need {
            guard: EpochAboveBoth,
            behind: &[ResetOnlyUpwards],
            scope: hub(&[PostgresFailover, TargetFailover]).events(1, 0),
        },
        need(ResetOnlyUpwards, hub(&[TargetOwnerKilled, TargetFailover])),
        need(HashOfEpoch, plain(&[TargetFailover])),
        need(PendingDoesNotExpire, plain(&[Expiry])),
        need(SurvivorsPersisted, plain(&[SourceFailover])),
        need(FenceBeforePosition, small(&[OwnerKilled, SourceFailover])),
        need(FenceOfNewProcess, small(&[CallDelayed, SourceFailover]).events(2, 0)),
        need(PersisterNotAhead, small(&[PostgresRestored])),
        need(LeadershipForgets, small(&[SourceFailover])),
        need(LogComparedWithFold, plain(&[SourceFailover])),
        need(LogComparedWithFoldedBeforeReset, plain(&[SourceFailover, PostgresFailover])),
        need(VersionFromSequence, hub(&[])),
        need(InvalidationBeatsOlderRead, hub(&[]).with_direct_change()),
        need(GapIsReadAgain, hub(&[])),
        need(GapVoidsReads, hub(&[]).with_direct_change()),
        need(EpochIsGap, hub(&[SourceFailover])),
    ]
}

/// Guards without which no violation was found. `EpochAfterSqlLoss`: events that PostgreSQL lost are
/// persisted once more, and `LoadNotBeforeRetired` waits for that; the guard only saves the wait.
const WITHOUT_NEED: &[Guard] = &[EpochAfterSqlLoss];

#[test]
fn without_faults_everything_holds() {
    all_hold(&without_faults());
}

#[test]
fn with_one_fault_everything_holds() {
    all_hold(&with_one_fault());
}

#[test]
fn with_two_faults_everything_holds() {
    all_hold(&with_two_faults());
}

#[test]
#[ignore = "takes minutes: `make model`"]
fn with_more_events_everything_holds() {
    all_hold(&deeper());
}

#[test]
fn no_guard_can_be_left_out() {
    let needs = needs();
    let outcomes = for_each(&needs, is_needed);
    for (need, outcome) in needs.iter().zip(&outcomes) {
        let said = match outcome {
            Ok(findings) => format!("{findings}").lines().next().unwrap_or_default().to_owned(),
            Err(why) => format!("NOT SHOWN: {why}"),
        };
        println!("{:?}, behind it {:?}: {said}", need.guard, need.behind);
    }
    let not_shown: Vec<Guard> = needs
        .iter()
        .zip(&outcomes)
        .filter(|(_, outcome)| outcome.is_err())
        .map(|(need, _)| need.guard)
        .collect();
    assert!(not_shown.is_empty(), "these guards seem to guard nothing: {not_shown:?}");
}

/// Something fails without the guard; with it nothing fails for at least as many states.
fn is_needed(need: &Need) -> Result<Findings, String> {
    let mut left_out = need.behind.to_vec();
    let behind_only = need.scope.without(&left_out);
    left_out.push(need.guard);
    let findings = explore(Counters { scope: need.scope.without(&left_out) }, BOUND);
    if findings.failure.is_none() {
        return Err(format!("nothing fails without it: {findings}"));
    }
    let as_many = Bound { states: findings.reached, ..BOUND };
    match explore(Counters { scope: behind_only }, as_many) {
        with_it if with_it.failure.is_some() => Err(format!("it fails with it too: {with_it}")),
        _ => Ok(findings),
    }
}

#[test]
fn guards_without_need_are_not_missed() {
    let scopes = [
        run(&[PostgresRestored]),
        run(&[PostgresRestored]).in_small_steps().events(1, 1),
        run(&[PostgresFailover]).events(1, 1),
    ];
    all_hold(&scopes.map(|scope| scope.without(WITHOUT_NEED)));
}

#[test]
fn the_tables_name_every_guard_and_every_fault() {
    let named: BTreeSet<Guard> =
        needs().iter().map(|need| need.guard).chain(WITHOUT_NEED.iter().copied()).collect();
    assert_eq!(named.into_iter().collect::<Vec<_>>(), Guard::ALL);
    let one = with_one_fault();
    for fault in Fault::ALL {
        assert!(one.iter().any(|scope| scope.faults.has(*fault)), "{fault:?} is in no run");
    }
}

fn all_hold(scopes: &[Scope]) {
    let findings = for_each(scopes, |scope| explore(Counters { scope: *scope }, BOUND));
    for (scope, findings) in scopes.iter().zip(&findings) {
        println!("{scope}: {findings}");
    }
    for (scope, findings) in scopes.iter().zip(&findings) {
        assert!(findings.failure.is_none(), "{scope}: {findings}");
        assert!(findings.is_exhaustive, "{scope}: met its bound: {findings}");
    }
}
