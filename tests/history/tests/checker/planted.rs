//! A bug that a service has once, in the middle of much that is right, is found.

use plaudit_history::report::Class::{self, *};

use crate::simulation::{
    Bug::{self, *},
    Options, simulate,
};

const SEEDS: u64 = 40;

/// Fails unless each history with the bug has a violation of one of these classes.
fn is_found(bug: Bug, classes: &[Class]) {
    let mut planted = 0;
    for seed in 0..SEEDS {
        let simulated = simulate(Options { bug: Some(bug), ..Options::new(seed) });
        if !simulated.has_bug {
            continue;
        }
        planted += 1;
        let report = simulated.check();
        if planted == 1 {
            println!("{report}");
        }
        let found = report.violations.iter().find(|violation| classes.contains(&violation.class));
        assert!(found.is_some(), "seed {seed}: {bug:?} was not found: {report}");
    }
    assert!(planted > SEEDS / 2, "{bug:?} was planted {planted} times only");
}

#[test]
fn an_acknowledged_like_that_is_lost_is_found() {
    is_found(LostLike, &[NotLinearizable]);
}

#[test]
fn a_like_that_is_counted_twice_is_found() {
    is_found(CountedTwice, &[CountedTooMuch, Unexplained, EndDiffers]);
}

#[test]
fn a_stale_own_state_after_an_acknowledged_switch_is_found() {
    is_found(StaleOwnState, &[NotLinearizable]);
}

#[test]
fn a_switch_that_changed_something_twice_is_found() {
    is_found(ChangedTwice, &[NotLinearizable]);
}

#[test]
fn a_subscriber_that_is_sent_an_older_version_is_found() {
    is_found(OlderPush, &[VersionFell]);
}

#[test]
fn a_version_with_two_sets_of_counts_is_found() {
    is_found(OtherCounts, &[VersionDiffers]);
}

#[test]
fn a_total_that_differs_from_the_rows_is_found() {
    is_found(WrongTotal, &[EndDiffers]);
}

#[test]
fn a_subscriber_that_misses_the_end_is_found() {
    is_found(LostPush, &[LastShownDiffers]);
}

#[test]
fn a_repetition_under_a_key_with_another_result_is_found() {
    is_found(OtherResult, &[KeyAnswersDiffer]);
}

/// It may look like a switch that was counted late, if one was under way.
#[test]
fn a_count_that_is_wrong_for_a_while_is_found_nearly_always() {
    for (bug, steps, actors, notes) in
        [(Shortfall, 100, 6, 4), (Shortfall, 400, 4, 3), (Surplus, 100, 6, 4), (Surplus, 400, 4, 3)]
    {
        let of = |seed| simulate(Options { steps, actors, notes, bug: Some(bug), ..Options::new(seed) });
        let with_bug = (0..).map(of).filter(|simulated| simulated.has_bug).take(SEEDS as usize);
        let found = with_bug.filter(|simulated| !simulated.check().violations.is_empty()).count();
        println!("{bug:?} in {steps} steps: {found} of {SEEDS} were found");
        assert!(found * 10 >= SEEDS as usize * 9, "{bug:?} in {steps} steps: {found} of {SEEDS} were found");
    }
}
