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

/// What is taken back and comes again may look like a switch that was counted late, so it is found where little is
/// switched off.
#[test]
fn a_count_that_is_taken_back_for_a_while_is_often_found_where_little_is_switched_off() {
    let (mut planted, mut found) = (0, 0);
    for seed in 0..SEEDS {
        let sparse = Options { steps: 100, actors: 6, notes: 4, ..Options::new(seed) };
        let simulated = simulate(Options { bug: Some(Bug::TakenBack), ..sparse });
        if simulated.has_bug {
            planted += 1;
            found += usize::from(!simulated.check().violations.is_empty());
        }
    }
    println!("{found} of {planted} were found");
    assert!(planted > 20 && found > planted / 3, "{found} of {planted} were found");
}
