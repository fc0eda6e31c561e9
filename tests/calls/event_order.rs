//! The stream of events at the store: whatever commits, in whatever order, and whoever is killed, a reader that follows
//! its cursor misses nothing and sees no subject out of order.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use plaudit_catalogue::primitives::{EventCursor, ShardCount};
use plaudit_embedded_stores::AppendFsync;
use plaudit_store::sql::{
    Db,
    connection::migration,
    ownership::installation,
    stream::{
        events::{self, CursorError},
        retention,
    },
};
use sqlx::{PgPool, Postgres, Transaction};
use support::{SOON, Stores, eventually};

/// A writer's transaction, with events at positions that it has taken.
const WRITE: &str = "INSERT INTO event (position, at, actor_id, target_id, recipient_id, number, kind, is_on)
    SELECT take_event_block(), now(), 0, $1, 0, $2, 112, false";

/// Stores with the tables, a stream that is on, and no server.
async fn stream() -> (Stores, Db, PgPool) {
    let stores = Stores::start(AppendFsync::EverySec).await;
    let db = Db::for_pipeline(stores.database_url(), 4).unwrap().with_events(true);
    migration::migrate(&db).await.unwrap();
    installation::installation(&db, ShardCount::new(2).unwrap()).await.unwrap();
    retention::set_stream(&db, true).await.unwrap();
    let sql = sqlx::postgres::PgPoolOptions::new().max_connections(24);
    let sql = sql.connect(stores.database_url()).await.unwrap();
    (stores, db, sql)
}

async fn written(sql: &PgPool, target: i64, number: i32) -> Transaction<'static, Postgres> {
    let mut tx = sql.begin().await.unwrap();
    sqlx::query(WRITE).bind(target).bind(number).execute(&mut *tx).await.unwrap();
    tx
}

/// A consumer: what it has seen, as targets and numbers.
struct Reader {
    db: Db,
    after: Option<EventCursor>,
    seen: Vec<(i64, i32)>,
}

impl Reader {
    const fn new(db: Db) -> Self {
        Self { db, after: None, seen: Vec::new() }
    }

    /// Reads a page; returns whether there was anything.
    async fn read(&mut self) -> bool {
        let page = events::events_after(&self.db, self.after, 7).await.unwrap().unwrap();
        self.after = Some(page.end);
        let events = page.events.iter();
        self.seen.extend(events.map(|event| (event.target.as_ref().unwrap().entity.id.get(), event.number)));
        !page.events.is_empty()
    }

    async fn numbers(&mut self) -> Vec<i32> {
        while self.read().await {}
        self.seen.iter().map(|(_, number)| *number).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_is_read_only_once_no_earlier_one_can_appear() {
    let (_stores, db, sql) = stream().await;
    let mut reader = Reader::new(db);
    let first = written(&sql, 1, 1).await;
    let second = written(&sql, 1, 2).await;
    assert_eq!(reader.numbers().await, [0; 0]);
    second.commit().await.unwrap();
    let third = written(&sql, 1, 3).await;
    assert_eq!(reader.numbers().await, [0; 0], "the first one may still commit below the second");
    third.commit().await.unwrap();
    assert_eq!(reader.numbers().await, [0; 0]);
    first.commit().await.unwrap();
    assert_eq!(reader.numbers().await, [1, 2, 3]);
    let (fourth, fifth) = (written(&sql, 1, 4).await, written(&sql, 1, 5).await);
    fourth.commit().await.unwrap();
    assert_eq!(reader.numbers().await, [1, 2, 3, 4], "the fifth cannot commit below the fourth");
    fifth.rollback().await.unwrap();
    written(&sql, 1, 6).await.commit().await.unwrap();
    assert_eq!(reader.numbers().await, [1, 2, 3, 4, 6]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_is_killed_before_its_commit_holds_up_nobody() {
    let (_stores, db, sql) = stream().await;
    let mut killed = written(&sql, 1, 1).await;
    let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut *killed).await.unwrap();
    written(&sql, 1, 2).await.commit().await.unwrap();
    let mut reader = Reader::new(db);
    assert_eq!(reader.numbers().await, [0; 0]);
    sqlx::query("SELECT pg_terminate_backend($1)").bind(pid).execute(&sql).await.unwrap();
    let deadline = Instant::now() + SOON;
    while reader.numbers().await.is_empty() {
        assert!(Instant::now() < deadline, "the reader waits for a writer that is gone");
    }
    assert_eq!(reader.seen, [(1, 2)]);
    assert!(killed.commit().await.is_err());
}

/// Writes the next number of a subject under the lock of its row, some time after a first write elsewhere gave the
/// transaction its number. One in eight is killed before its commit. Returns whether it committed.
async fn write_under_lock(sql: &PgPool, killer: &PgPool, turn: u32) -> bool {
    let subject = i64::from(turn % 5) + 1;
    let Ok(mut tx) = sql.begin().await else { return false };
    let written = async {
        sqlx::query("INSERT INTO idempotency_key (actor_id, key, operation) VALUES ($1, $2, 'a test')")
            .bind(i64::from(turn))
            .bind(uuid::Uuid::new_v4().to_string())
            .execute(&mut *tx)
            .await?;
        let next = "UPDATE test_subject SET number = number + 1 WHERE id = $1 RETURNING number";
        let number: i32 = sqlx::query_scalar(next).bind(subject).fetch_one(&mut *tx).await?;
        sqlx::query(WRITE).bind(subject).bind(number).execute(&mut *tx).await?;
        if turn % 8 == 7 {
            let pid: i32 = sqlx::query_scalar("SELECT pg_backend_pid()").fetch_one(&mut *tx).await?;
            sqlx::query("SELECT pg_terminate_backend($1)").bind(pid).execute(killer).await?;
        }
        Ok::<_, sqlx::Error>(())
    };
    written.await.is_ok() && tx.commit().await.is_ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_follows_many_writers_misses_none_and_sees_each_subject_in_order() {
    let (_stores, db, sql) = stream().await;
    let killer = sqlx::postgres::PgPoolOptions::new().max_connections(4);
    let killer = killer.connect_with((*sql.connect_options()).clone()).await.unwrap();
    for statement in [
        "CREATE TABLE test_subject (id bigint PRIMARY KEY, number integer NOT NULL DEFAULT 0)",
        "INSERT INTO test_subject (id) SELECT generate_series(1, 5)",
    ] {
        sqlx::query(statement).execute(&sql).await.unwrap();
    }
    let writers: Vec<_> = (0..16_u32)
        .map(|writer| {
            let (sql, killer) = (sql.clone(), killer.clone());
            tokio::spawn(async move {
                let mut committed = 0_usize;
                for turn in 0..60 {
                    committed += usize::from(write_under_lock(&sql, &killer, writer + 16 * turn / 3).await);
                }
                committed
            })
        })
        .collect();
    let mut reader = Reader::new(db);
    while !writers.iter().all(tokio::task::JoinHandle::is_finished) {
        reader.read().await;
    }
    let mut committed = 0;
    for writer in writers {
        committed += writer.await.unwrap();
    }
    let left = || async {
        sqlx::query_scalar::<_, i64>("SELECT count(*) FROM event").fetch_one(&killer).await.unwrap()
    };
    let deadline = Instant::now() + SOON;
    while reader.read().await || (reader.seen.len() as i64) < left().await {
        assert!(Instant::now() < deadline, "{} events of {}", reader.seen.len(), left().await);
    }
    assert!(committed > 500 && reader.seen.len() >= committed, "{committed} {}", reader.seen.len());
    let mut last = HashMap::<i64, i32>::new();
    for (subject, number) in &reader.seen {
        let before = last.insert(*subject, *number).unwrap_or(0);
        assert_eq!(*number, before + 1, "subject {subject}");
    }
    let rows: Vec<(i64, i32)> =
        sqlx::query_as("SELECT id, number FROM test_subject").fetch_all(&killer).await.unwrap();
    for (subject, number) in rows {
        assert_eq!(last[&subject], number);
    }
}

/// Five events, and their cursors.
async fn five(db: &Db, sql: &PgPool) -> Vec<EventCursor> {
    for number in 1..=5 {
        written(sql, 1, number).await.commit().await.unwrap();
    }
    let page = events::events_after(db, None, 100).await.unwrap().unwrap();
    page.events.iter().map(|event| event.cursor).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_whose_events_were_deleted_is_too_old_and_names_where_to_go_on() {
    let (_stores, db, sql) = stream().await;
    let cursors = five(&db, &sql).await;
    let age = "UPDATE event SET written_at = now() - interval '2 hours' WHERE position <= $1";
    sqlx::query(age).bind(cursors[2].position).execute(&sql).await.unwrap();
    // With the age that they have now.
    let page = events::events_after(&db, None, 100).await.unwrap().unwrap();
    let cursors: Vec<EventCursor> = page.events.iter().map(|event| event.cursor).collect();
    let hour = Duration::from_hours(1);
    assert_eq!(retention::delete_old_events(&db, hour, 2).await.unwrap(), 2);
    assert_eq!(retention::delete_old_events(&db, hour, 2).await.unwrap(), 1);
    assert_eq!(retention::delete_old_events(&db, hour, 2).await.unwrap(), 0);
    for old in &cursors[..2] {
        let error = events::events_after(&db, Some(*old), 9).await.unwrap().unwrap_err();
        assert_eq!(error, CursorError::TooOld { kept: cursors[2] });
        assert!(error.to_string().contains("event_retention"), "{error}");
    }
    let rest = [&cursors[3..], &cursors[3..], &cursors[4..], &[]];
    for (after, expected) in
        [None, Some(cursors[2]), Some(cursors[3]), Some(cursors[4])].into_iter().zip(rest)
    {
        let page = events::events_after(&db, after, 9).await.unwrap().unwrap();
        assert_eq!(page.events.iter().map(|event| event.cursor).collect::<Vec<_>>(), expected);
        assert_eq!(page.end, cursors[4]);
    }
    // The same twice; and what is too young stays.
    assert_eq!(retention::delete_old_events(&db, Duration::ZERO, 100).await.unwrap(), 2);
    assert_eq!(events::events_after(&db, Some(cursors[4]), 9).await.unwrap().unwrap().end, cursors[4]);
    written(&sql, 1, 6).await.commit().await.unwrap();
    assert_eq!(events::events_after(&db, Some(cursors[4]), 9).await.unwrap().unwrap().events.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn retention_leaves_events_that_an_open_transaction_may_still_precede() {
    let (_stores, db, sql) = stream().await;
    let open = written(&sql, 1, 1).await;
    written(&sql, 1, 2).await.commit().await.unwrap();
    assert_eq!(retention::delete_old_events(&db, Duration::ZERO, 100).await.unwrap(), 0);
    open.commit().await.unwrap();
    assert_eq!(retention::delete_old_events(&db, Duration::ZERO, 100).await.unwrap(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_beyond_what_a_failover_kept_names_what_was_lost() {
    let (mut stores, db, sql) = stream().await;
    let before = five(&db, &sql).await;
    sqlx::query("CHECKPOINT").execute(&sql).await.unwrap();
    sql.close().await;
    stores.stop_postgres();
    let copy = stores.copy_files("postgres");
    stores.start_postgres();
    let sql = stores.sql().await;
    let pooled = Db::for_pipeline(stores.database_url(), 2).unwrap();
    written(&sql, 1, 6).await.commit().await.unwrap();
    written(&sql, 1, 7).await.commit().await.unwrap();
    let after = events::events_after(&pooled, Some(before[4]), 9).await.unwrap().unwrap();
    let lost = after.events[1].cursor;
    sql.close().await;
    stores.stop_postgres();
    stores.restore_files("postgres", &copy);
    stores.start_postgres();
    let db = Db::for_pipeline(stores.database_url(), 2).unwrap();
    let error = events::events_after(&db, Some(lost), 9).await.unwrap().unwrap_err();
    assert_eq!(error, CursorError::Lost { kept: before[4], lost: lost.position });
    assert!(error.to_string().contains(&before[4].to_string()), "{error}");
    // The positions are used again, on the same timeline.
    let sql = stores.sql().await;
    for number in [8, 9] {
        written(&sql, 1, number).await.commit().await.unwrap();
    }
    let error = events::events_after(&db, Some(lost), 9).await.unwrap().unwrap_err();
    assert_eq!(error, CursorError::Lost { kept: before[4], lost: lost.position });
    let page = events::events_after(&db, error.kept(), 9).await.unwrap().unwrap();
    assert_eq!(page.events.iter().map(|event| event.number).collect::<Vec<_>>(), [8, 9]);
    assert_eq!(page.end.position, lost.position);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_of_another_installation_is_refused() {
    let (_stores, db, sql) = stream().await;
    let cursor = five(&db, &sql).await[1];
    let other = EventCursor { installation: cursor.installation ^ 1, ..cursor };
    assert_eq!(events::events_after(&db, Some(other), 9).await.unwrap(), Err(CursorError::OtherInstallation));
    assert_eq!(events::events_after(&db, Some(cursor), 9).await.unwrap().unwrap().events.len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_was_off_begins_empty_and_older_cursors_are_too_old() {
    let (_stores, db, sql) = stream().await;
    let cursors = five(&db, &sql).await;
    retention::set_stream(&db, true).await.unwrap();
    assert_eq!(events::events_after(&db, Some(cursors[3]), 9).await.unwrap().unwrap().events.len(), 1);
    for _ in 0..2 {
        retention::set_stream(&db, false).await.unwrap();
    }
    assert!(!retention::stream_is_on(&db).await.unwrap());
    for _ in 0..2 {
        retention::set_stream(&db, true).await.unwrap();
    }
    let begun = events::events_after(&db, None, 9).await.unwrap().unwrap();
    assert!(begun.events.is_empty());
    for cursor in cursors {
        let error = events::events_after(&db, Some(cursor), 9).await.unwrap().unwrap_err();
        assert_eq!(error, CursorError::TooOld { kept: begun.end });
    }
    written(&sql, 1, 6).await.commit().await.unwrap();
    let next = eventually("the event is read", SOON, || async {
        events::events_after(&db, Some(begun.end), 9).await.unwrap().unwrap().events.pop()
    });
    assert_eq!(next.await.number, 6);
}
