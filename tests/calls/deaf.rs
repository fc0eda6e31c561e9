//! What a process that has not heard of an erasure does for the erased user.

use std::{num::NonZeroUsize, time::Duration};

use plaudit_catalogue::{
    primitives::{GroupId, Id, NoteId, ShardCount, UserId},
    settings::{DomainSettings, RateSettings},
};
use plaudit_counting::hub::Hub;
use plaudit_domain::{
    Amount, CommentText, DomainError, DomainResult, GRANT_REASON, GroupModerator, Judged, Message, NOTE_BODY,
    NOTE_TITLE, NewNote, NewReport, Plaudit, ProfileEdit, REPORT_TEXT, ReportReason, Score, Switching, Text,
    TextEdit, USER_NAME,
    content::{comments, notes, ratings},
    edges::likes,
    moderation::{groups, reports},
    people::{coins, inbox, profiles},
};
use plaudit_store::{redis::Redis, sql::Db};
use plaudit_token_auth::Role;
use serde_json::json;
use support::{Server, Stores, drift, keys_with, number, rows_of, tables_with};

const NAME: &str = "Lena Latesdottir";
const WORDS: &str = "words-of-lena";
const NOTES: i64 = 48;

/// A process that hears of nothing.
fn deaf_process(stores: &Stores) -> Plaudit {
    let redis = Redis::new(stores.redis_url(), ShardCount::new(2).unwrap()).unwrap();
    let db = Db::for_requests(stores.database_url(), 4).unwrap().with_events(true);
    let hub = Hub::new(redis.clone(), db.clone(), NonZeroUsize::new(1_000).unwrap());
    let settings = DomainSettings {
        reply_wait: Duration::from_millis(1),
        rates: RateSettings::unlimited(),
        ..DomainSettings::default()
    };
    Plaudit::new(redis, db, hub, settings)
}

fn id(raw: i64) -> Id {
    raw.try_into().unwrap()
}

/// Everything that the user does to one note, and that others do to the user. Returns which of it was refused
/// because the user does not exist.
async fn act(process: &Plaudit, user: UserId, other: UserId, at: NoteId, on: bool) -> Vec<bool> {
    let text = |rule| Text::parse(WORDS, rule).unwrap();
    let words = CommentText::parse(WORDS, Vec::new(), Vec::new()).unwrap();
    let written = TextEdit::of_note(Some(text(&NOTE_TITLE)), Some(text(&NOTE_BODY)));
    let new = NewNote { key: None, url: None, text: written, group: None };
    let coins = Amount::parse(1).unwrap();
    let message = |from, to| Message::new(from, to).unwrap();
    let report = NewReport { reason: ReportReason::Spam, text: Some(text(&REPORT_TEXT)) };
    let switching = Switching { actor: Some(user.into()), on, key: None, shows_counts: false };
    likes::set_note_like(process, at, switching).await.unwrap();
    vec![
        was_refused(ratings::set_rating(process, Some(user), at, Some(Score::parse(3).unwrap()), None).await),
        was_refused(comments::add_comment(process, user, at, None, None, &words, None).await),
        was_refused(notes::create_note(process, user, new, None).await),
        was_refused(reports::report(process, user, (Judged::Note, at.0), &report, None).await),
        was_refused(coins::grant_coins(process, other, user, coins, text(&GRANT_REASON), None).await),
        was_refused(inbox::record_message(process, other, message(user, other), None).await),
        was_refused(inbox::record_message(process, user, message(other, user), None).await),
    ]
}

fn was_refused<T>(reply: DomainResult<T>) -> bool {
    match reply {
        Ok(_) => false,
        Err(DomainError::NotFound(_)) => true,
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_process_that_has_not_heard_does_for_an_erased_user_leaves_nothing() {
    let mut server = Server::start(&[]);
    server.kill();
    // So that it acts between any two pages.
    assert!(server.try_start(&[("FAILPOINTS", "page.after=sleep(60)")]));
    let (stores, lena) = (server.stores(), server.client("lena is late"));
    let process = deaf_process(&stores);
    lena.act("updateProfile", json!({ "name": NAME }), "changed").await;
    let (user, other) = (stores.user_of("lena is late").await, stores.new_user().await);
    let founded = lena.act("createGroup", json!({ "name": "Of Lena" }), "group { id }").await;
    let group = GroupId(id(number(&founded["group"]["id"])));
    let mut notes = Vec::new();
    for _ in 0..NOTES {
        notes.push(stores.new_note().await);
    }
    let act = |step: usize| {
        // It switches each like off, then on again, and so on.
        let (note, on) = (notes[step % notes.len()], (step / notes.len()).is_multiple_of(2));
        act(&process, UserId(id(user)), UserId(id(other)), NoteId(id(note)), on)
    };
    for step in 0..notes.len() {
        assert_eq!(act(step).await, [false; 7]);
    }
    stores.rest().await;
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let erased = json!(format!("user_{user}"));
    moderator.act("eraseUser", json!({ "userId": erased }), "changed").await;
    let pages = "SELECT count(*) FROM backfill WHERE finished_at IS NULL AND $1 > 0";
    let mut step = notes.len();
    while stores.number(pages, user).await > 0 {
        act(step).await;
        step += 1;
    }
    assert!(step > notes.len() + 10, "it acted {step} times");
    assert_eq!(act(step).await, [true; 7]);
    let profile = ProfileEdit { name: Some(Text::parse(NAME, &USER_NAME).unwrap()), avatar_url: None };
    let late = profiles::update_profile(&process, UserId(id(user)), &profile, None).await;
    assert!(!matches!(late, Ok((_, true))));
    // The group outlives its owner. The event of its removal names nobody.
    let by = GroupModerator { user: UserId(id(user)), is_moderator: false };
    assert!(groups::delete_group(&process, by, group, None).await.unwrap().changed);
    let events = "SELECT count(*) FROM event WHERE target_id = $1 AND kind = 114";
    assert_eq!(stores.number(events, group.get()).await, 1);
    stores.rest().await;
    assert_eq!(rows_of(&stores, &erased).await, 0);
    for text in [NAME, WORDS] {
        assert_eq!(tables_with(&stores, text).await, Vec::<String>::new(), "{text}");
        assert_eq!(keys_with(&stores, text).await, Vec::<String>::new(), "{text}");
    }
    assert_eq!(drift(&server), Vec::<String>::new());
    let unfounded = "SELECT count(*) FROM report_case WHERE reports = 0 AND $1 > 0";
    assert_eq!(stores.number(unfounded, user).await, 0);
    // The erasure explains what Redis had counted.
    assert_eq!(server.metric("plaudit_persist_mismatches_total{cause=\"unexplained\"}").await, 0.0);
}
