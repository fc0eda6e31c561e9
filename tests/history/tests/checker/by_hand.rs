//! The smallest history with a bug of each class, and what is said about it.

use std::collections::BTreeMap;

use plaudit_history::{
    Rules, check,
    history::{
        Answer, Call, Count, Edge, Ending, Entity, History, Outcome, OwnState, Shown, Time, Via, version,
    },
    report::{Class, Violation},
};

const NOTE: Entity = Entity { kind: "note", id: 5 };
const LIKES: Count = Count { of: NOTE, name: "likes" };
const LIKE: Edge = Edge { kind: "note_like", actor: 1, target: 5 };
const OTHER_LIKE: Edge = Edge { actor: 2, ..LIKE };

struct OfOneNote;

impl Rules for OfOneNote {
    fn moves(&self, _: Edge) -> Vec<Count> {
        vec![LIKES]
    }
}

#[derive(Default)]
struct Story {
    history: History,
    now: u64,
}

impl Story {
    fn tick(&mut self) -> Time {
        self.now += 1_000_000;
        Time(self.now)
    }

    fn switches(mut self, edge: Edge, on: bool, changed: bool) -> Self {
        let (invoked, at) = (self.tick(), self.tick());
        let answer = Some(Answer { at, outcome: Outcome::Done { changed: Some(changed) } });
        self.history.calls.push(Call { edge, on, key: None, invoked, answer });
        self
    }

    fn switches_without_answer(mut self, edge: Edge, on: bool) -> Self {
        let invoked = self.tick();
        self.history.calls.push(Call { edge, on, key: None, invoked, answer: None });
        self
    }

    fn reads(mut self, edge: Edge, is_on: bool) -> Self {
        let (invoked, answered) = (self.tick(), self.tick());
        self.history.own_states.push(OwnState { edge, is_on, invoked, answered });
        self
    }

    fn sees(mut self, observer: &str, at: (u64, u64), likes: i64) -> Self {
        let now = self.tick();
        self.shown(Via::Push, observer, now, at, likes)
    }

    /// Shows a reader who asked at that time.
    fn answers(self, asked: Time, at: (u64, u64), likes: i64) -> Self {
        self.shown(Via::Query, "the readers", asked, at, likes)
    }

    fn shown(mut self, via: Via, observer: &str, asked: Time, at: (u64, u64), likes: i64) -> Self {
        let (seen, observer) = (self.tick(), observer.into());
        let (values, version) = (BTreeMap::from([("likes", likes)]), version(at.0, at.1));
        let includes = None;
        self.history.shown.push(Shown {
            entity: NOTE,
            version,
            values,
            via,
            observer,
            asked,
            seen,
            includes,
        });
        self
    }

    /// Shows counts in the reply to the last switch, which promises to include it.
    fn replies(mut self, at: (u64, u64), likes: i64) -> Self {
        let asked = self.history.calls.last().unwrap().invoked;
        self = self.shown(Via::Reply, "the caller", asked, at, likes);
        self.history.shown.last_mut().unwrap().includes = self.history.calls.len().checked_sub(1);
        self
    }

    fn carries(mut self, likes: i64) -> Self {
        self.history.carried.insert(LIKES, likes);
        self
    }

    fn loses(mut self) -> Self {
        let at = self.tick();
        self.history.losses.push(at);
        self
    }

    fn ends(self, rows: &[Edge], likes: i64) -> Vec<Violation> {
        let (rows, counts) = (rows.iter().copied().collect(), BTreeMap::from([(LIKES, likes)]));
        let ending = Ending { rows, counts, ..Ending::default() };
        check(&self.history, &ending, &OfOneNote).violations
    }
}

/// Fails unless there is exactly one violation, of this class, with this part of the history.
fn only(violations: &[Violation], class: Class, slice: &[&str]) {
    let [violation] = violations else { panic!("not one violation: {violations:#?}") };
    println!("{violation}");
    assert_eq!(violation.class, class, "{violation}");
    assert_eq!(violation.slice.len(), slice.len(), "{violation}");
    for (line, part) in violation.slice.iter().zip(slice) {
        assert!(line.contains(part), "{part:?} is not in {line:?}");
    }
}

#[test]
fn a_like_whose_row_is_off_is_lost() {
    let violations = Story::default().switches(LIKE, true, true).ends(&[], 0);
    only(&violations, Class::NotLinearizable, &["switch on: changed: true", "the row at rest: off"]);
}

#[test]
fn only_the_last_operations_before_a_contradiction_are_reported() {
    let mut story = Story::default();
    for _ in 0..50 {
        story = story.switches(LIKE, true, true).reads(LIKE, true).switches(LIKE, false, true);
    }
    let story = story.switches(LIKE, true, true).switches(LIKE, true, true).switches(LIKE, false, true);
    let violations = story.ends(&[], 0);
    only(&violations, Class::NotLinearizable, &["switch on: changed: true", "switch on: changed: true"]);
}

#[test]
fn an_own_state_from_before_an_acknowledged_like_is_stale() {
    let violations = Story::default().switches(LIKE, true, true).reads(LIKE, false).ends(&[LIKE], 1);
    only(&violations, Class::NotLinearizable, &["switch on: changed: true", "own state: off"]);
}

#[test]
fn a_call_without_an_answer_may_have_acted_late_or_never() {
    let story = || Story::default().switches_without_answer(LIKE, true).reads(LIKE, false);
    assert!(story().ends(&[], 0).is_empty());
    assert!(story().ends(&[LIKE], 1).is_empty());
    assert!(story().reads(LIKE, true).ends(&[LIKE], 1).is_empty());
    let violations = story().reads(LIKE, true).reads(LIKE, false).ends(&[], 0);
    only(
        &violations,
        Class::NotLinearizable,
        &["no answer", "own state: off", "own state: on", "own state: off"],
    );
}

#[test]
fn a_hundred_calls_without_an_answer_are_checked_at_once() {
    let mut story = Story::default();
    for _ in 0..100 {
        story = story.switches_without_answer(LIKE, true);
    }
    for _ in 0..101 {
        story = story.reads(LIKE, true).switches(LIKE, false, true);
    }
    assert_eq!(story.ends(&[], 0).len(), 1);
}

#[test]
fn a_loss_may_change_an_edge_once() {
    let story = || Story::default().switches(LIKE, true, true).loses().reads(LIKE, false);
    assert!(story().ends(&[], 0).is_empty());
    assert_eq!(story().reads(LIKE, true).ends(&[LIKE], 1).len(), 1);
}

#[test]
fn a_like_that_is_counted_twice_is_more_than_was_switched_on() {
    let story = Story::default().switches(LIKE, true, true).sees("watcher", (1, 1), 1);
    let violations = story.sees("watcher", (1, 2), 2).sees("watcher", (1, 3), 1).ends(&[LIKE], 1);
    let slice = ["switch on: changed: true: note_like by 1 of 5", "likes\": 1", "likes\": 2"];
    only(&violations, Class::CountedTooMuch, &slice);
}

#[test]
fn a_count_that_was_shown_before_the_call_began_is_too_much() {
    let story = Story::default().sees("watcher", (1, 1), 1).switches(LIKE, true, true);
    only(&story.ends(&[LIKE], 1), Class::CountedTooMuch, &["likes\": 1"]);
}

#[test]
fn a_count_that_falls_without_a_call_is_taken_back_but_not_in_a_later_epoch() {
    let story = || Story::default().switches(LIKE, true, true).sees("watcher", (1, 1), 1);
    let violations = story().sees("watcher", (1, 2), 0).sees("watcher", (1, 3), 1).ends(&[LIKE], 1);
    only(&violations, Class::TakenBack, &["switch on", "likes\": 1", "likes\": 0"]);
    assert!(story().sees("watcher", (2, 1), 0).sees("watcher", (2, 2), 1).ends(&[LIKE], 1).is_empty());
}

#[test]
fn counts_that_no_order_of_the_calls_explains_are_found() {
    // The second like is taken back, so it cannot be the one that stays.
    let story = Story::default().switches(LIKE, true, true).sees("watcher", (1, 1), 1);
    let story = story.switches(LIKE, false, true).switches(OTHER_LIKE, true, true);
    let explained = story.sees("watcher", (1, 2), 2).sees("watcher", (1, 3), 1);
    assert!(explained.ends(&[OTHER_LIKE], 1).is_empty());

    let story = Story::default().switches(LIKE, true, true).switches(LIKE, false, true);
    let story = story.sees("watcher", (1, 1), 1).switches(OTHER_LIKE, true, true);
    let story = story.sees("watcher", (1, 2), 0).sees("watcher", (1, 3), 1);
    let story = story.sees("watcher", (1, 4), 0).switches(OTHER_LIKE, false, true);
    let violations = story.sees("watcher", (1, 5), 0).ends(&[], 0);
    assert_eq!(violations.len(), 1, "{violations:#?}");
    assert_eq!(violations[0].class, Class::TakenBack);
}

#[test]
fn what_a_reply_includes_stays_counted_within_an_epoch_that_was_seen_before_the_call() {
    let story = || {
        let story = Story::default().switches(LIKE, true, true).sees("watcher", (1, 1), 1);
        story.switches(OTHER_LIKE, true, true).switches(LIKE, false, true)
    };
    let falls = |story: Story, epoch| {
        story.sees("watcher", (epoch, 3), 0).sees("watcher", (epoch, 4), 1).ends(&[OTHER_LIKE], 1)
    };
    // The first like was switched off late.
    assert!(falls(story().sees("watcher", (1, 2), 1), 1).is_empty());
    only(&falls(story().replies((1, 2), 1), 1), Class::Unexplained, &["on", "1", "on", "off", "1", "0"]);
    assert!(falls(story().replies((2, 2), 1), 2).is_empty());
}

#[test]
fn the_end_of_a_count_is_explained_by_the_rows() {
    // Both were on at the end, so the value cannot have fallen.
    let story = Story::default().switches_without_answer(OTHER_LIKE, false).switches(LIKE, true, true);
    let story = story.switches(OTHER_LIKE, true, true).sees("watcher", (1, 1), 2);
    let violations = story.sees("watcher", (1, 2), 1).ends(&[LIKE, OTHER_LIKE], 2);
    assert_eq!(violations.len(), 1, "{violations:#?}");
    assert_eq!(violations[0].class, Class::Unexplained);
}

#[test]
fn versions_that_fall_for_an_observer_are_found() {
    let story = || Story::default().switches(LIKE, true, true).sees("watcher", (1, 2), 1);
    let violations = story().sees("watcher", (1, 1), 0).ends(&[LIKE], 1);
    only(&violations, Class::VersionFell, &["change 2", "change 1"]);
    assert!(story().sees("another", (1, 1), 0).ends(&[LIKE], 1).is_empty());
}

#[test]
fn an_older_answer_to_a_later_question_is_found() {
    let asks_twice = || {
        let mut story = Story::default().switches(LIKE, true, true);
        let (first, second) = (story.tick(), story.tick());
        (story.answers(first, (1, 2), 1), second)
    };
    let (mut story, second) = asks_twice();
    let third = story.tick();
    only(&story.answers(third, (1, 1), 0).ends(&[LIKE], 1), Class::VersionFell, &["change 2", "change 1"]);
    // The second question was asked before the first one was answered.
    let (story, _) = asks_twice();
    assert!(story.answers(second, (1, 1), 0).ends(&[LIKE], 1).is_empty());
}

#[test]
fn a_version_with_two_values_is_found() {
    let story = Story::default().switches(LIKE, true, true).switches(OTHER_LIKE, true, true);
    let violations = story.sees("watcher", (1, 1), 1).sees("another", (1, 1), 2).ends(&[LIKE, OTHER_LIKE], 2);
    only(&violations, Class::VersionDiffers, &["to watcher", "to another"]);
}

#[test]
fn a_total_that_is_not_the_number_of_rows_is_found() {
    only(&Story::default().switches(LIKE, true, true).ends(&[LIKE], 2), Class::EndDiffers, &[]);
}

#[test]
fn counts_are_what_they_carry_and_their_edges() {
    let story = || Story::default().carries(1_000).switches(LIKE, true, true);
    assert!(story().sees("watcher", (1, 1), 1_001).ends(&[LIKE], 1_001).is_empty());
    only(&story().ends(&[LIKE], 1_000), Class::EndDiffers, &[]);
    only(&story().ends(&[LIKE], 1), Class::EndDiffers, &[]);
    let seen = story().sees("watcher", (1, 1), 1);
    only(&seen.ends(&[LIKE], 1_001), Class::TakenBack, &["switch on", "1"]);
}

#[test]
fn a_row_that_nobody_switched_on_is_found() {
    only(&Story::default().ends(&[LIKE], 1), Class::NotLinearizable, &["the row at rest: on"]);
}
