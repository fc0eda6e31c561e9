//! What comes late for an erased user: actions in a process that has not heard of the erasure, and comments that are
//! approved after it.

use std::{num::NonZeroUsize, time::Duration};

use plaudit_catalogue::{
    primitives::{GroupId, Id, NoteId, ShardCount, UserId},
    settings::{DomainSettings, RateSettings},
};
use plaudit_counting::hub::Hub;
use plaudit_domain::{
    Amount, CommentText, DomainError, DomainResult, GRANT_REASON, GroupModerator, Message, NOTE_BODY,
    NOTE_TITLE, NewNote, NewReport, Plaudit, ProfileEdit, REPORT_TEXT, ReportReason, ReportTarget, Score,
    Switching, Text, USER_NAME,
    content::{comments, notes, ratings},
    edges::likes,
    moderation::{groups, reports},
    people::{coins, inbox, profiles},
};
use plaudit_store::{redis::Redis, sql::Db};
use plaudit_token_auth::Role;
use serde_json::json;

use super::erasure::{comment, drift, keys_with, note, rows_of, tables_with, until_erased};
use crate::support::{Answer, ModerationService, SOON, Server, Stores, eventually, number};

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
    let new = NewNote { key: None, url: None, title: text(&NOTE_TITLE), body: text(&NOTE_BODY), group: None };
    let coins = Amount::parse(1).unwrap();
    let message = |from, to| Message::new(from, to).unwrap();
    let report = NewReport { reason: ReportReason::Spam, text: Some(text(&REPORT_TEXT)) };
    let switching = Switching { actor: Some(user.into()), on, key: None, shows_counts: false };
    likes::set_note_like(process, at, switching).await.unwrap();
    vec![
        was_refused(ratings::set_rating(process, Some(user), at, Some(Score::parse(3).unwrap()), None).await),
        was_refused(comments::add_comment(process, user, at, None, None, &words, None).await),
        was_refused(notes::create_note(process, user, new, None).await),
        was_refused(reports::report(process, user, ReportTarget::Note(at), &report, None).await),
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

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_and_a_mention_that_are_approved_after_an_erasure_tell_nobody() {
    let service =
        ModerationService::start(|text| if text == "Held" { Answer::Held } else { Answer::Approve }).await;
    let server = Server::start(&service.flags("60s"));
    let stores = server.stores();
    let (lena, ann) = (server.client("lena is told"), server.client("ann tells"));
    let of_ann = note(&ann, "Of Ann").await;
    let answered = comment(&lena, &of_ann, None, "Answer me").await;
    let erased = json!(format!("user_{}", stores.user_of("lena is told").await));
    for input in [
        json!({ "noteId": of_ann, "body": "Held", "replyToId": answered }),
        json!({ "noteId": of_ann, "body": "Held", "mentions": [erased] }),
    ] {
        ann.act("addComment", input, "comment { id }").await;
    }
    let moderator = server.client_as(Role::Moderator, "the moderator");
    moderator.act("eraseUser", json!({ "userId": erased }), "changed").await;
    until_erased(&stores, &erased).await;
    service.open();
    let query = "query ($n: ID!) { note(id: $n) { commentCount } }";
    eventually("both are approved", SOON, || async {
        let seen = ann.data(query, json!({ "n": of_ann })).await;
        (seen["note"]["commentCount"] == 2).then_some(())
    })
    .await;
    let told = "SELECT count(*) FROM inbox_entry WHERE recipient_id = $1";
    assert_eq!(stores.number(told, number(&erased)).await, 0);
    assert_eq!(drift(&server), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_and_a_message_under_way_during_an_erasure_leave_nothing() {
    let server = Server::start(&[]);
    let stores = server.stores();
    let (lena, ann) = (server.client("lena is paid"), server.client("ann is written to"));
    lena.act("updateProfile", json!({ "name": NAME }), "changed").await;
    ann.act("updateProfile", json!({ "name": "Ann" }), "changed").await;
    let erased = json!(format!("user_{}", stores.user_of("lena is paid").await));
    let other = stores.user_of("ann is written to").await;
    // Both actions have begun, and wait for totals.
    let mut held = stores.sql().await.begin().await.unwrap();
    for (table, id) in [("user_counts", number(&erased)), ("inbox_counts", other)] {
        let lock = format!("SELECT id FROM {table} WHERE id = {id} FOR UPDATE");
        sqlx::query(sqlx::AssertSqlSafe(lock)).fetch_one(&mut *held).await.unwrap();
    }
    let service = server.client_as(Role::Service, "a service");
    let coins = json!({ "userId": erased, "amount": 5, "reason": WORDS });
    let message = json!({ "senderId": erased, "recipientId": format!("user_{other}") });
    let acting = [("grantCoins", coins), ("recordMessage", message)].map(|(mutation, input)| {
        let service = service.clone();
        tokio::spawn(async move { service.act(mutation, input, "__typename").await })
    });
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND $1 > 0";
    eventually("both wait", SOON, || async { (stores.number(waiting, 1).await == 2).then_some(()) }).await;
    let moderator = server.client_as(Role::Moderator, "the moderator");
    let input = json!({ "userId": erased });
    let erasing = tokio::spawn(async move { moderator.act("eraseUser", input, "changed").await });
    // It must wait for them, too, or else it is over before they go on.
    let left = "SELECT count(*) FROM backfill WHERE finished_at IS NULL AND $1 > 0";
    eventually("the erasure waits or is over", SOON, || async {
        let is_over = erasing.is_finished() && stores.number(left, 1).await == 0;
        (is_over || stores.number(waiting, 1).await == 3).then_some(())
    })
    .await;
    held.rollback().await.unwrap();
    for action in acting {
        action.await.unwrap();
    }
    erasing.await.unwrap();
    until_erased(&stores, &erased).await;
    assert_eq!(rows_of(&stores, &erased).await, 0);
    assert_eq!(tables_with(&stores, WORDS).await, Vec::<String>::new());
    assert_eq!(drift(&server), Vec::<String>::new());
}
