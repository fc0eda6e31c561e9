//! Comments with their texts, and threads: the lists of comments on a note and of replies to a comment.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{FromRow, Row, postgres::PgRow};

use super::{submissions::ModerationState, texts::PendingEdit};
use crate::{
    StoreResult,
    sql::{Db, columns::users_of, counting::lists, from_catalogue},
};
use plaudit_catalogue::primitives::{CommentId, Id, Moment, NoteId, PageRequest, Ranked, Slice, UserId};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Comment {
    pub id: CommentId,
    #[serde(default)]
    pub key: Option<String>,
    pub note: NoteId,
    pub author: UserId,
    /// The parent comment; `None` for a comment on the note itself.
    pub parent: Option<CommentId>,
    /// The reply that it answers; `None` if it answers the parent comment or the note.
    pub answered: Option<CommentId>,
    pub state: ModerationState,
    /// It is a placeholder of a removed comment, without text.
    pub is_removed: bool,
    /// Its author is hidden: others see at most a placeholder.
    #[serde(default)]
    pub is_hidden: bool,
    /// It stays in lists although it is removed or hidden, because it has replies.
    #[serde(default)]
    pub is_placeholder: bool,
    pub rating_at_writing: Option<i16>,
    pub body: String,
    pub images: Vec<String>,
    pub mentions: Vec<UserId>,
    /// Reason of the rejection.
    pub rejected_because: Option<String>,
    pub created_at: DateTime<Utc>,
    /// When its text was changed last after everybody could see it.
    #[serde(default)]
    pub edited_at: Option<DateTime<Utc>>,
    /// Its next text: only its author and moderators see it.
    #[serde(default)]
    pub edit: Option<PendingEdit>,
}

impl Comment {
    /// Whether everybody may see it.
    pub fn is_public(&self) -> bool {
        self.state == ModerationState::Approved && !self.is_hidden
    }

    /// What others see of it if it is a placeholder: as if it was removed.
    #[must_use]
    pub fn as_removed(&self) -> Self {
        let (body, images, mentions) = (String::new(), Vec::new(), Vec::new());
        Self {
            is_removed: true,
            is_hidden: false,
            rating_at_writing: None,
            body,
            images,
            mentions,
            edit: None,
            ..self.clone()
        }
    }
}

/// A thread: the list of comments below a note or a comment.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CommentThread {
    /// Comments on a note itself.
    Note(NoteId),
    /// Replies to a comment.
    Comment(CommentId),
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum CommentOrder {
    Hot,
    Newest,
}

/// A page of a thread: each comment's position in the list, which ends with its id.
pub type ThreadPage = Slice<Ranked>;

pub(crate) const COLUMNS: &str = "i.id, i.key, i.note_id, i.author_id, i.parent_id, i.reply_to_id, i.state,
    i.removed_at IS NOT NULL AS is_removed, i.is_hidden, i.is_placeholder, i.rating_at_writing,
    b.body, b.images, b.mentions,
    CASE WHEN i.state = 'rejected' THEN (SELECT d.reason FROM decision AS d
                                         WHERE d.kind = 'comment' AND d.target_id = i.id
                                         ORDER BY d.id DESC LIMIT 1) END AS rejected_because,
    i.created_at, i.edited_at, e.title AS edit_title, e.body AS edit_body, e.images AS edit_images,
    e.mentions AS edit_mentions,
    e.rejected_because AS edit_rejected_because, e.created_at AS edit_created_at";

impl CommentThread {
    const fn id(self) -> Id {
        match self {
            Self::Note(id) => id.0,
            Self::Comment(id) => id.0,
        }
    }

    /// Conditions of the indexes of such lists; the alias `thread` has the id.
    const fn condition(self) -> &'static str {
        match self {
            Self::Note(_) => "i.note_id = thread.id AND i.parent_id IS NULL",
            Self::Comment(_) => "i.parent_id = thread.id AND i.parent_id IS NOT NULL",
        }
    }
}

impl CommentOrder {
    const fn score(self) -> &'static str {
        match self {
            Self::Hot => "i.hot_score",
            Self::Newest => "(extract(epoch FROM i.created_at) * 1000000)::bigint",
        }
    }

    /// Comments after the position `($2, $3)`, in order.
    const fn behind_in_order(self) -> &'static str {
        match self {
            Self::Hot => "AND (i.hot_score, i.id) < ($2, $3) ORDER BY i.hot_score DESC, i.id DESC",
            Self::Newest => "AND (i.created_at, i.id) < ($2, $3) ORDER BY i.created_at DESC, i.id DESC",
        }
    }
}

/// Comments by their ids. Unknown ones are missing, and removed ones that are no placeholders. Includes comments
/// that are not approved, which the caller must not show to everybody.
pub async fn comments(db: &Db, ids: &[CommentId]) -> StoreResult<Vec<Comment>> {
    let text = format!(
        "SELECT {COLUMNS} FROM comment_index AS i JOIN comment_body AS b ON b.id = i.id
         LEFT JOIN edit AS e ON e.kind = 'comment' AND e.target_id = i.id
         WHERE i.id = ANY($1) AND (i.removed_at IS NULL OR i.is_placeholder)"
    );
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    let query = sqlx::query_as(from_catalogue(text)).bind(ids);
    db.run(query.fetch_all(&db.pool())).await
}

/// A page of an author's comments that only the author sees, newest first: not approved, or hidden.
pub async fn unpublished_comments_of(
    db: &Db,
    author: UserId,
    page: &PageRequest<Moment>,
) -> StoreResult<Slice<Moment>> {
    let before = page.before();
    let query = sqlx::query_as(
        "SELECT id, created_at FROM comment_index
         WHERE author_id = $1 AND NOT is_counted AND removed_at IS NULL AND (created_at, id) < ($2, $3)
         ORDER BY created_at DESC, id DESC LIMIT $4",
    )
    .bind(author.get())
    .bind(lists::time(before.micros))
    .bind(before.id.get())
    .bind(page.rows());
    let rows: Vec<(Id, DateTime<Utc>)> = db.run(query.fetch_all(&db.pool())).await?;
    Ok(page.slice(rows.into_iter().map(lists::moment).collect()))
}

/// A page of each of these threads, all of one kind, in one statement. Threads without comments are missing.
pub async fn threads(
    db: &Db,
    threads: &[CommentThread],
    order: CommentOrder,
    page: &PageRequest<Ranked>,
) -> StoreResult<BTreeMap<Id, ThreadPage>> {
    let Some(kind) = threads.first() else { return Ok(BTreeMap::new()) };
    let text = format!(
        "SELECT thread.id, i.score, i.id
         FROM unnest($1::bigint[]) AS thread (id)
         CROSS JOIN LATERAL (
             SELECT {score} AS score, i.id FROM comment_index AS i
             WHERE {of} AND i.is_listed {order} LIMIT $4
         ) AS i",
        score = order.score(),
        of = kind.condition(),
        order = order.behind_in_order(),
    );
    let after = page.after.unwrap_or(Ranked::LAST);
    let query = sqlx::query_as::<_, (Id, i64, Id)>(from_catalogue(text))
        .bind(threads.iter().map(|thread| thread.id().get()).collect::<Vec<_>>());
    let query = match order {
        CommentOrder::Hot => query.bind(after.score),
        CommentOrder::Newest => query.bind(lists::time(after.score)),
    };
    let query = query.bind(after.id.get()).bind(page.rows());
    let mut found = BTreeMap::<Id, Vec<Ranked>>::new();
    for (thread, score, id) in db.run(query.fetch_all(&db.pool())).await? {
        found.entry(thread).or_default().push(Ranked { score, id });
    }
    let slice = |mut comments: Vec<Ranked>| {
        comments.sort_unstable_by_key(|place| std::cmp::Reverse(*place));
        page.slice(comments)
    };
    Ok(found.into_iter().map(|(thread, comments)| (thread, slice(comments))).collect())
}

/// Comments of an author on a note that only the author sees, newest first.
pub async fn unpublished_comments(
    db: &Db,
    author: UserId,
    note: NoteId,
    most: i64,
) -> StoreResult<Vec<CommentId>> {
    let query = sqlx::query_scalar(
        "SELECT id FROM comment_index
         WHERE author_id = $1 AND note_id = $2 AND NOT is_counted AND removed_at IS NULL
         ORDER BY created_at DESC, id DESC LIMIT $3",
    );
    let query = query.bind(author.get()).bind(note.get()).bind(most);
    db.run(query.fetch_all(&db.pool())).await
}

/// The columns of [`COLUMNS`].
impl FromRow<'_, PgRow> for Comment {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        Ok(Self {
            id: row.try_get("id")?,
            key: row.try_get("key")?,
            note: row.try_get("note_id")?,
            author: row.try_get("author_id")?,
            parent: row.try_get("parent_id")?,
            answered: row.try_get("reply_to_id")?,
            state: row.try_get("state")?,
            is_removed: row.try_get("is_removed")?,
            is_hidden: row.try_get("is_hidden")?,
            is_placeholder: row.try_get("is_placeholder")?,
            rating_at_writing: row.try_get("rating_at_writing")?,
            body: row.try_get("body")?,
            images: row.try_get("images")?,
            mentions: users_of(row.try_get("mentions")?),
            rejected_because: row.try_get("rejected_because")?,
            created_at: row.try_get("created_at")?,
            edited_at: row.try_get("edited_at")?,
            edit: PendingEdit::from_join(row)?,
        })
    }
}
