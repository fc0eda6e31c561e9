//! Reports of notes and comments. The reports of one object are a case; its numbers change under the lock of its row.

use std::time::Duration;

use chrono::{DateTime, Utc};

use crate::{
    StoreResult,
    sql::{
        Db, Tx,
        content::submissions::Judged,
        counting::lists::{moment, time},
    },
};
use plaudit_catalogue::{
    Entity,
    primitives::{Id, Moment, PageRequest, Slice, UserId},
};

/// A user's report of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StoredReport {
    /// When it was made, and by whom.
    pub place: Moment,
    pub reason: i16,
    pub text: Option<String>,
}

/// A page of a case's reports, the latest first.
pub async fn reports_of(db: &Db, case: Id, page: &PageRequest<Moment>) -> StoreResult<Slice<StoredReport>> {
    let before = page.before();
    let query = sqlx::query_as(
        "SELECT reporter_id, created_at, reason, text FROM report
         WHERE case_id = $1 AND (created_at, reporter_id) < ($2, $3)
         ORDER BY created_at DESC, reporter_id DESC LIMIT $4",
    )
    .bind(case.get())
    .bind(time(before.micros))
    .bind(before.id.get())
    .bind(page.rows());
    type Row = (Id, DateTime<Utc>, i16, Option<String>);
    let rows: Vec<Row> = db.run(query.fetch_all(&db.pool())).await?;
    let report = |(reporter, at, reason, text)| StoredReport { place: moment((reporter, at)), reason, text };
    Ok(page.slice(rows.into_iter().map(report).collect()))
}

/// Deletes reports and cases that were closed longer ago than `retention`, at most `most` rows. Returns
/// their number.
pub async fn delete_old_reports(db: &Db, retention: Duration, most: i64) -> StoreResult<u64> {
    let seconds = retention.as_secs() as f64;
    let reports = sqlx::query(
        "DELETE FROM report WHERE (case_id, reporter_id) IN (
             SELECT r.case_id, r.reporter_id FROM report_case AS c JOIN report AS r ON r.case_id = c.id
             WHERE c.closed_at < now() - make_interval(secs => $1) LIMIT $2)",
    )
    .bind(seconds)
    .bind(most);
    let deleted = db.run(reports.execute(&db.pool())).await?.rows_affected();
    if deleted > 0 {
        return Ok(deleted);
    }
    let cases = sqlx::query(
        "DELETE FROM report_case WHERE id IN (
             SELECT id FROM report_case WHERE closed_at < now() - make_interval(secs => $1) LIMIT $2)",
    )
    .bind(seconds)
    .bind(most);
    Ok(db.run(cases.execute(&db.pool())).await?.rows_affected())
}

/// Locks a note or comment against removal and hiding. False if not everybody can see it.
pub async fn hold_shown(tx: &mut Tx, kind: Judged, id: Id) -> StoreResult<bool> {
    let query = sqlx::query_scalar(match kind {
        Judged::Note => "SELECT true FROM note WHERE id = $1 AND is_shown FOR SHARE",
        Judged::Comment => {
            "SELECT true FROM comment_index AS c WHERE id = $1 AND is_counted
               AND EXISTS (SELECT FROM note AS n WHERE n.id = c.note_id AND n.is_shown)
             FOR SHARE OF c"
        }
    });
    Ok(tx.db.run(query.bind(id.get()).fetch_optional(&mut *tx.inner)).await?.unwrap_or(false))
}

/// Reports an object, or changes the reporter's report of it. Returns whether anything changed; `None` if
/// the reporter was erased: then the transaction must not commit. Lock the object first, and call
/// `shards::lock_removals_shared` before that.
pub async fn report(
    tx: &mut Tx,
    about: Entity,
    reporter: UserId,
    reason: i16,
    text: Option<&str>,
) -> StoreResult<Option<bool>> {
    let case = lock_or_open_case(tx, about, reporter).await?;
    let before = report_by(tx, case, reporter).await?;
    if before.as_ref().is_some_and(|(was, said)| *was == reason && said.as_deref() == text) {
        return Ok(Some(false));
    }
    if !write_report(tx, case, reporter, reason, text).await? {
        return Ok(None);
    }
    count_report(tx, case, before.map(|(was, _)| was), reason).await?;
    Ok(Some(true))
}

/// Looks at the reporter's latest reports, not at all: a place behind a hundred is far enough.
async fn lock_or_open_case(tx: &mut Tx, about: Entity, reporter: UserId) -> StoreResult<Id> {
    let query = sqlx::query_scalar(
        "INSERT INTO report_case AS c (about, turn)
         SELECT $1, 1 + count(*)
         FROM (SELECT case_id FROM report WHERE reporter_id = $2 ORDER BY case_id DESC LIMIT 99) AS latest
         JOIN report_case AS open ON open.id = latest.case_id AND open.closed_at IS NULL
         ON CONFLICT (about) WHERE closed_at IS NULL DO UPDATE SET turn = least(c.turn, excluded.turn)
         RETURNING id",
    )
    .bind(about.to_string())
    .bind(reporter.get());
    tx.db.run(query.fetch_one(&mut *tx.inner)).await
}

async fn report_by(tx: &mut Tx, case: Id, reporter: UserId) -> StoreResult<Option<(i16, Option<String>)>> {
    let query = sqlx::query_as("SELECT reason, text FROM report WHERE case_id = $1 AND reporter_id = $2")
        .bind(case.get())
        .bind(reporter.get());
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}

async fn write_report(
    tx: &mut Tx,
    case: Id,
    reporter: UserId,
    reason: i16,
    text: Option<&str>,
) -> StoreResult<bool> {
    let query = sqlx::query(
        "INSERT INTO report (case_id, reporter_id, reason, text)
         SELECT $1, id, $3, $4 FROM app_user WHERE id = $2 AND removed_at IS NULL
         ON CONFLICT (case_id, reporter_id) DO UPDATE SET reason = excluded.reason, text = excluded.text",
    )
    .bind(case.get())
    .bind(reporter.get())
    .bind(reason)
    .bind(text);
    Ok(tx.db.run(query.execute(&mut *tx.inner)).await?.rows_affected() > 0)
}

/// Counts a report that is new, or that had another reason before.
async fn count_report(tx: &mut Tx, case: Id, before: Option<i16>, reason: i16) -> StoreResult<()> {
    for (reason, by) in [(before, -1), (Some(reason), 1)] {
        let Some(reason) = reason else { continue };
        let query = sqlx::query(
            "UPDATE report_case SET by_reason[$2] = by_reason[$2] + $3, last_reported_at = now() WHERE id = $1",
        )
        .bind(case.get())
        .bind(i32::from(reason))
        .bind(i64::from(by));
        tx.db.run(query.execute(&mut *tx.inner)).await?;
    }
    Ok(())
}

/// Whether there is an open case of an object, without a lock.
pub async fn has_open_case(tx: &mut Tx, about: Entity) -> StoreResult<bool> {
    let query =
        sqlx::query_scalar("SELECT EXISTS (SELECT FROM report_case WHERE about = $1 AND closed_at IS NULL)")
            .bind(about.to_string());
    tx.db.run(query.fetch_one(&mut *tx.inner)).await
}

/// Closes the open case of an object. Returns false if there is none.
pub async fn close_case(
    tx: &mut Tx,
    about: Entity,
    decision: &str,
    reason: Option<&str>,
    moderator: UserId,
) -> StoreResult<bool> {
    let query = sqlx::query(
        "UPDATE report_case SET closed_at = now(), decision = $2, decision_reason = $3, decided_by = $4
         WHERE about = $1 AND closed_at IS NULL",
    )
    .bind(about.to_string())
    .bind(decision)
    .bind(reason)
    .bind(moderator.get());
    Ok(tx.db.run(query.execute(&mut *tx.inner)).await?.rows_affected() > 0)
}

/// How the last case of an object was closed: by a decision, or (`Some(None)`) because the object was removed
/// otherwise. `None` if none was.
pub async fn last_decision(tx: &mut Tx, about: Entity) -> StoreResult<Option<Option<String>>> {
    let query = sqlx::query_scalar(
        "SELECT decision FROM report_case WHERE about = $1 AND closed_at IS NOT NULL ORDER BY id DESC LIMIT 1",
    )
    .bind(about.to_string());
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}

/// Deletes reports of a user, and takes them out of open cases. Returns their number.
pub async fn erase_reports(tx: &mut Tx, user: UserId, most: usize) -> StoreResult<usize> {
    let query = sqlx::query_scalar(
        "SELECT id FROM report_case
         WHERE id = ANY(ARRAY(SELECT case_id FROM report WHERE reporter_id = $1 ORDER BY case_id LIMIT $2))
         ORDER BY id FOR UPDATE",
    )
    .bind(user.get())
    .bind(most as i64);
    let cases: Vec<i64> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let query = sqlx::query(
        "WITH gone AS (DELETE FROM report WHERE reporter_id = $1 AND case_id = ANY($2) RETURNING case_id, reason)
         UPDATE report_case AS c SET by_reason[gone.reason] = c.by_reason[gone.reason] - 1 FROM gone
         WHERE c.id = gone.case_id AND c.closed_at IS NULL",
    )
    .bind(user.get())
    .bind(&cases);
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    let query =
        sqlx::query("DELETE FROM report_case WHERE id = ANY($1) AND closed_at IS NULL AND reports = 0")
            .bind(&cases);
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    Ok(cases.len())
}
