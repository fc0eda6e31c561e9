//! Model of counters: the properties hold in every run, and fail in a run without any one guard.

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

/// Far more than any run needs. A run that reaches the bound is not exhaustive, and fails.
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
        run(&[Failback]).events(2, 1),
        run(&[Failback]).in_small_steps().events(2, 0),
        run(&[Failback]).with_hub().events(1, 0),
        run(&[RedisFailover, FormerReturns]).events(2, 1),
        run(&[RedisFailover, FormerReturns]).in_small_steps().events(2, 0),
        run(&[Reshard]).events(2, 1),
        run(&[Reshard]).in_small_steps().events(2, 0),
        run(&[Reshard]).with_hub().events(1, 0),
        run(&[ReplicaAttached]).in_small_steps(),
        run(&[ReplicaAttached]).with_hub().events(1, 1),
        run(&[BacklogFreed]).events(2, 1),
        run(&[BacklogFreed]).with_hub().events(1, 1),
        run(&[PlannedFailover]).events(2, 1),
        run(&[PlannedFailover]).in_small_steps().events(2, 0),
        run(&[PlannedFailover]).with_hub().events(1, 0),
        run(&[SlotMoved]).events(2, 1),
        run(&[SlotMoved]).in_small_steps().events(2, 0),
        run(&[SlotMoved]).with_hub().events(1, 0),
        run(&[SlotMovedPartly]).events(2, 1),
        run(&[SlotMovedPartly]).in_small_steps().events(2, 0),
        run(&[SlotMovedPartly]).with_hub().events(1, 0),
        run(&[SlotMoved, SlotAssigned]).events(2, 1),
        run(&[SlotMoved, SlotAssigned]).with_hub().events(1, 0),
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
        run(&[OwnerKilled, Reshard]).in_small_steps().events(2, 0),
        run(&[CallDelayed, Reshard]).in_small_steps().events(2, 0),
        run(&[TargetOwnerKilled, Reshard]).events(2, 0),
        run(&[PostgresFailover, Reshard]).events(1, 0),
        run(&[CallDelayed, SourceFailover]).in_small_steps().events(1, 0),
        run(&[CallDelayed, PostgresFailover]).in_small_steps().events(1, 0),
        run(&[TargetFailover, SourceFailover]).events(2, 0),
        run(&[TargetFailover, PostgresFailover]).events(2, 0),
        run(&[TargetFailover, PostgresFailover]).with_hub().events(1, 0),
        run(&[Failback, ReplicaAttached]).events(1, 1),
        run(&[Failback, BacklogFreed]).with_hub().events(1, 0),
        run(&[TargetOwnerKilled, Failback]).events(1, 1),
        run(&[Failback, SlotMoved]).events(1, 1),
        run(&[Failback, SlotMoved]).with_hub().events(1, 0),
        run(&[RedisFailover, SlotMoved]).events(1, 1),
        run(&[OwnerKilled, SlotMoved]).in_small_steps().events(1, 0),
        run(&[TargetOwnerKilled, SlotMoved]).events(1, 1),
        run(&[SlotMovedPartly, PlannedFailover]).events(1, 1),
        run(&[TargetOwnerKilled, TargetFailover]).events(2, 1),
        run(&[TargetOwnerKilled, PostgresFailover]).events(1, 1),
        run(&[SourceFailover, PostgresFailover]).events(1, 0),
        run(&[Mismatch, PostgresFailover]).events(1, 1),
        run(&[Expiry, PostgresFailover]).events(1, 1),
    ]
}

/// Larger runs, which take minutes and some gigabytes of memory.
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
        run(&[Failback]).with_hub().events(1, 1),
        run(&[Failback, BacklogFreed]).events(2, 1),
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
    /// Guards that would hide its absence. They are omitted as well; without them alone nothing fails.
    hiding: &'static [Guard],
    scope: Scope,
}

fn need(guard: Guard, scope: Scope) -> Need {
    Need { guard, hiding: &[], scope }
}

fn needs() -> Vec<Need> {
    let small = |faults: &[Fault]| run(faults).in_small_steps().events(2, 1);
    let direct = |faults: &[Fault]| run(faults).with_direct_change().events(2, 1);
    let plain = |faults: &[Fault]| run(faults).events(2, 1);
    let hub = |faults: &[Fault]| run(faults).with_hub().events(1, 1);
    vec![
        need(FoldFromPosition, small(&[CallDelayed])),
        need(FoldOfEpoch, small(&[CallDelayed, RedisFailover]).events(2, 0)),
        need(FoldNotOfOlderEpoch, plain(&[SourceFailover])),
        need(FenceInRedis, small(&[OwnerKilled, SourceFailover])),
        need(FenceInSql, small(&[OwnerKilled, SourceFailover]).events(2, 0)),
        need(PersistFromOffset, small(&[CallDelayed])),
        need(InstallIntoLoading, direct(&[])),
        need(InstallAddsFolded, plain(&[])),
        need(TailIsWhole, plain(&[SourceFailover])),
        need(TailOfGeneration, plain(&[SourceFailover])),
        need(InstallOfTimeline, direct(&[PostgresFailover]).events(1, 0)),
        need(InstallNotAheadOfFold, plain(&[])),
        need(InstallTakesVersion, hub(&[]).with_direct_change()),
        need(InvalidationEndsLoad, direct(&[])),
        need(InvalidationIsSent, hub(&[]).with_direct_change()),
        need(InvalidateBeforeDelete, direct(&[TargetOwnerKilled])),
        need(DeleteOwnInvalidations, direct(&[Mismatch])),
        need(InvalidationIdsNeverReused, plain(&[Mismatch, PostgresFailover]).events(1, 0)),
        need(MismatchInvalidates, plain(&[Mismatch])),
        need(EpochAfterMissingMeta, hub(&[FlushAll])),
        need(ResetAtLogEnds, hub(&[TargetFailover])),
        need(ResetComparesEnds, plain(&[TargetFailover, SourceFailover]).events(2, 0)),
        need(SequenceIsCompared, plain(&[Failback])),
        need(EpochAfterPromotion, hub(&[Failback]).events(1, 0)),
        need(SequenceSeenLately, hub(&[Failback, BacklogFreed]).events(1, 0)),
        need(HandoverOfVerified, hub(&[Failback, SlotMoved]).events(1, 0)),
        need(HandoverIsGiven, hub(&[SlotMovedPartly]).events(1, 0)),
        need(HandoverIsTaken, hub(&[SlotMovedPartly]).events(1, 0)),
        need(HandoverIsNew, hub(&[SlotMoved, SlotAssigned]).events(1, 0)),
        need(RecoveredTarget, hub(&[TargetFailover])),
        need(RecoveredLog, plain(&[SourceFailover])),
        need(EpochAfterTimeline, plain(&[PostgresFailover])),
        need(EpochAfterLogLoss, plain(&[SourceFailover])),
        Need {
            guard: EpochAboveBoth,
            hiding: &[ResetOnlyUpwards],
            scope: hub(&[PostgresFailover, TargetFailover]).with_direct_change().events(1, 0),
        },
        need(ResetOnlyUpwards, hub(&[TargetOwnerKilled, TargetFailover])),
        need(HashOfEpoch, plain(&[TargetFailover])),
        need(PersistedEntryIsCompared, plain(&[RedisFailover, FormerReturns]).events(2, 0)),
        need(LastEntryIsReadAgain, plain(&[RedisFailover, FormerReturns]).events(2, 0)),
        need(LogIsClosed, plain(&[RedisFailover, FormerReturns]).events(2, 0)),
        need(ReshardCloses, plain(&[Reshard])),
        need(ReshardFences, small(&[CallDelayed, Reshard]).events(2, 0)),
        need(ReshardComparesEnds, plain(&[PostgresFailover, Reshard]).events(1, 0)),
        Need { guard: ReshardPersists, hiding: &[ReshardComparesEnds], scope: plain(&[Reshard]) },
        need(SurvivorsPersisted, plain(&[SourceFailover])),
        need(FenceBeforePosition, small(&[OwnerKilled, SourceFailover])),
        need(FenceOfNewProcess, small(&[CallDelayed, SourceFailover]).events(2, 0)),
        need(PersisterNotAhead, small(&[PostgresRestored])),
        need(LeadershipForgets, small(&[SourceFailover])),
        need(LogComparedWithFold, plain(&[SourceFailover])),
        need(VersionFromSequence, hub(&[])),
        need(InvalidationBeatsOlderRead, hub(&[]).with_direct_change()),
        need(GapIsReadAgain, hub(&[])),
        need(ReceivedTotalsAreApplied, hub(&[])),
        need(GapVoidsReads, hub(&[]).with_direct_change()),
        need(EpochIsGap, hub(&[SourceFailover])),
    ]
}

#[test]
fn all_properties_hold_without_faults() {
    all_hold(&without_faults());
}

#[test]
fn all_properties_hold_with_one_fault() {
    all_hold(&with_one_fault());
}

#[test]
fn all_properties_hold_with_two_faults() {
    all_hold(&with_two_faults());
}

#[test]
#[ignore = "takes minutes: `make model`"]
fn all_properties_hold_with_more_events() {
    all_hold(&deeper());
}

#[test]
fn every_guard_is_needed() {
    let needs = needs();
    let outcomes = for_each(&needs, is_needed);
    for (need, outcome) in needs.iter().zip(&outcomes) {
        let result = match outcome {
            Ok(findings) => format!("{findings}").lines().next().unwrap_or_default().to_owned(),
            Err(why) => format!("NOT NEEDED: {why}"),
        };
        println!("{:?}, without {:?} as well: {result}", need.guard, need.hiding);
    }
    let not_needed: Vec<Guard> = needs
        .iter()
        .zip(&outcomes)
        .filter(|(_, outcome)| outcome.is_err())
        .map(|(need, _)| need.guard)
        .collect();
    assert!(not_needed.is_empty(), "nothing fails without these guards: {not_needed:?}");
}

/// A property fails without the guard; with it none fails in at least as many states.
fn is_needed(need: &Need) -> Result<Findings, String> {
    let mut omitted = need.hiding.to_vec();
    let without_hiding = need.scope.without(&omitted);
    omitted.push(need.guard);
    let findings = explore(Counters { scope: need.scope.without(&omitted) }, BOUND);
    if findings.failure.is_none() {
        return Err(format!("nothing fails without it: {findings}"));
    }
    let same_bound = Bound { states: findings.reached, ..BOUND };
    match explore(Counters { scope: without_hiding }, same_bound) {
        findings if findings.failure.is_some() => Err(format!("a property fails with it, too: {findings}")),
        _ => Ok(findings),
    }
}

#[test]
fn the_tables_name_every_guard_and_every_fault() {
    let named: BTreeSet<Guard> = needs().iter().map(|need| need.guard).collect();
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
        assert!(findings.is_exhaustive, "{scope}: not exhaustive: {findings}");
    }
}
