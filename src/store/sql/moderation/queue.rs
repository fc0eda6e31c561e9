//! The review queue: notes and comments that wait for a decision, and those that users reported.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{Db, content::submissions::Judged, from_catalogue},
};
use plaudit_catalogue::{
    Entity,
    primitives::{Id, PageRequest, Ranked, Slice},
};

/// A list of the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReviewList {
    /// Texts that wait for the configured moderator, the oldest first.
    Waiting,
    /// Texts that wait for a person, the oldest first.
    Undecided,
    /// Open cases: the most reports first, then cases by users with the fewest open reports.
    MostReported,
    /// Open cases, the oldest first.
    LongestReported,
}

/// A note or comment in the queue.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct ReviewItem {
    /// The number of its text, or of its case.
    pub id: Id,
    /// Its place in the order by reports; 0 without them.
    pub rank: i64,
    pub about: Entity,
    /// Why its text waits for a person.
    pub undecided_why: Option<String>,
    /// When its text was written, or when it was reported first.
    pub queued_at: DateTime<Utc>,
    pub reports: i64,
    /// The reports per reason; the first is for reason 1.
    pub by_reason: Vec<i64>,
    pub last_reported_at: Option<DateTime<Utc>>,
}

/// Length and age of the queue.
#[derive(Clone, Copy, FromRow, PartialEq, Eq, Default, Debug)]
pub struct QueueState {
    pub waiting: i64,
    pub undecided: i64,
    /// Open cases, as far as a thousand: users make them, so there may be any number.
    pub reported: i64,
    /// Age of the oldest text that waits for a moderator, not for a person.
    oldest_seconds: i64,
    /// What waits for a person: another number for other texts and for other reports of the first thousand cases.
    pub mark: i64,
}

impl QueueState {
    pub fn oldest(&self) -> Duration {
        Duration::from_secs(self.oldest_seconds.max(0) as u64)
    }
}

impl ReviewItem {
    pub const fn place(&self) -> Ranked {
        Ranked { score: self.rank, id: self.id }
    }
}

impl ReviewList {
    const fn is_reported(self) -> bool {
        matches!(self, Self::MostReported | Self::LongestReported)
    }

    /// The condition on rows, their order, and the place before the first one.
    const fn condition(self) -> (&'static str, &'static str, (i64, i64)) {
        let first = (0, 0);
        match self {
            Self::Waiting => ("undecided_why IS NULL AND $1 IS NOT NULL AND number > $2", "number", first),
            Self::Undecided => {
                ("undecided_why IS NOT NULL AND $1 IS NOT NULL AND number > $2", "number", first)
            }
            Self::MostReported => (
                "closed_at IS NULL AND (reports * 100 - turn, id) < ($1, $2)",
                "(reports * 100 - turn) DESC, id DESC",
                (i64::MAX, i64::MAX),
            ),
            Self::LongestReported => ("closed_at IS NULL AND $1 IS NOT NULL AND id > $2", "id", first),
        }
    }
}

/// A page of a list; `kind`: only of notes, or only of comments.
pub async fn review_items(
    db: &Db,
    list: ReviewList,
    kind: Option<Judged>,
    page: &PageRequest<Ranked>,
) -> StoreResult<Slice<ReviewItem>> {
    let (condition, order, first) = list.condition();
    let (about, rows) = if list.is_reported() {
        (
            "about",
            "id, reports * 100 - turn AS rank, about, NULL AS undecided_why, first_reported_at AS queued_at,
             reports, by_reason, last_reported_at FROM report_case",
        )
    } else {
        (
            "kind",
            "number AS id, 0::bigint AS rank, kind || '_' || target_id AS about, undecided_why,
             created_at AS queued_at, 0::bigint AS reports, '{}'::bigint[] AS by_reason,
             NULL::timestamptz AS last_reported_at FROM submission",
        )
    };
    let of_kind = kind.map(|kind| format!("AND {about} LIKE '{}%'", kind.name())).unwrap_or_default();
    let text = format!("SELECT {rows} WHERE {condition} {of_kind} ORDER BY {order} LIMIT $3");
    let (rank, id) = page.after.map_or(first, |after| (after.score, after.id.get()));
    let query = sqlx::query_as(from_catalogue(text)).bind(rank).bind(id).bind(page.rows());
    Ok(page.slice(db.run(query.fetch_all(&db.pool())).await?))
}

/// Of notes and comments together.
pub async fn queue_state(db: &Db) -> StoreResult<QueueState> {
    let query = sqlx::query_as(
        "SELECT count(number) FILTER (WHERE undecided_why IS NULL) AS waiting,
                count(number) FILTER (WHERE undecided_why IS NOT NULL) AS undecided,
                max(reported.cases) AS reported,
                coalesce(extract(epoch FROM now() - min(created_at) FILTER (WHERE undecided_why IS NULL)), 0)::bigint
                    AS oldest_seconds,
                (coalesce(sum(number) FILTER (WHERE undecided_why IS NOT NULL), 0) + max(reported.mark))::bigint AS mark
         FROM (SELECT count(*) AS cases, coalesce(sum(id * 1000 + reports), 0) AS mark
               FROM (SELECT id, reports FROM report_case WHERE closed_at IS NULL
                     ORDER BY (reports * 100 - turn) DESC, id DESC LIMIT 1000) AS first) AS reported
         LEFT JOIN submission ON true",
    );
    db.run(query.fetch_one(&db.pool())).await
}
