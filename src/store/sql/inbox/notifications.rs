//! Inbox entries about comments: who gets one, and how often.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{
        Tx,
        content::comments::{CommentHeader, raw},
        from_catalogue,
        stream::events::{self, NewEvent},
    },
};
use plaudit_catalogue::{
    EventKind, InboxKind,
    primitives::{CommentId, UserId},
};

/// One user who gets an inbox entry about a comment.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct CommentNotification {
    comment: CommentId,
    pub recipient: UserId,
    /// Number of an [`InboxKind`].
    kind: i16,
}

/// Each recipient once per comment: as author of the comment replied to, else as author of the note, else
/// because of a mention. The comment's own author is not notified, and no user who was erased. Of comments
/// with an edit: those whom only the edit mentions; the others know the comment.
pub async fn notifications(tx: &mut Tx, comments: &[CommentId]) -> StoreResult<Vec<CommentNotification>> {
    let text = format!(
        "SELECT comment, recipient, kind FROM (
         SELECT DISTINCT ON (new.id, entry.recipient) new.id AS comment, entry.recipient,
                entry.kind::smallint AS kind, edit.target_id IS NOT NULL AS is_known
         FROM comment_index AS new
         LEFT JOIN edit ON edit.kind = 'comment' AND edit.target_id = new.id
         CROSS JOIN LATERAL (
             SELECT author_id AS recipient, {reply} AS kind, 1 AS rank FROM comment_index
             WHERE id = coalesce(new.reply_to_id, new.parent_id)
             UNION ALL SELECT author_id, {comment}, 2 FROM note WHERE id = new.note_id
             UNION ALL SELECT mentioned.id, {mention}, 3
             FROM comment_body AS old, unnest(coalesce(edit.mentions, old.mentions)) AS mentioned (id)
             WHERE old.id = new.id AND (edit.target_id IS NULL OR mentioned.id <> ALL(old.mentions))
         ) AS entry
         JOIN app_user AS u ON u.id = entry.recipient AND u.removed_at IS NULL
         WHERE new.id = ANY($1) AND entry.recipient <> new.author_id
         ORDER BY new.id, entry.recipient, entry.rank
         ) AS first WHERE NOT is_known OR kind = {mention}",
        reply = InboxKind::Reply.number(),
        comment = InboxKind::Comment.number(),
        mention = InboxKind::Mention.number(),
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(raw(comments));
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Writes the inbox entries of comments that have become visible; of those that only mention somebody, one
/// per actor, note and hour, so that nobody can fill an inbox. Returns the recipient of each new entry.
/// Lock the totals of the recipients' inboxes first: then no other transaction writes the entry of the
/// hour.
pub async fn deliver(
    tx: &mut Tx,
    shown: &[CommentHeader],
    notifications: &[CommentNotification],
) -> StoreResult<Vec<UserId>> {
    let shown: BTreeMap<CommentId, &CommentHeader> = shown.iter().map(|header| (header.id, header)).collect();
    let mut mentioned = BTreeSet::new();
    let new: Vec<(&CommentNotification, &CommentHeader)> = notifications
        .iter()
        .filter_map(|one| Some((one, *shown.get(&one.comment)?)))
        .filter(|(one, about)| {
            one.kind != InboxKind::Mention.number()
                || mentioned.insert((about.author, about.note, one.recipient))
        })
        .collect();
    let text = format!(
        "INSERT INTO inbox_entry (recipient_id, kind, target_id, id, unread, actors, created_at)
         SELECT recipient, kind, comment, nextval('inbox_position'), 1, 1, now()
         FROM unnest($1::bigint[], $2::smallint[], $3::bigint[], $4::bigint[], $5::bigint[])
             AS entry (recipient, kind, actor, comment, note)
         WHERE kind <> {mention} OR NOT EXISTS (
             SELECT FROM inbox_entry AS earlier JOIN comment_index AS about ON about.id = earlier.target_id
             WHERE earlier.recipient_id = recipient AND earlier.kind = {mention}
               AND earlier.created_at > now() - interval '1 hour'
               AND about.author_id = actor AND about.note_id = note)
         ON CONFLICT (recipient_id, kind, target_id) DO NOTHING RETURNING recipient_id, kind, target_id",
        mention = InboxKind::Mention.number(),
    );
    let query = sqlx::query_as(from_catalogue(text))
        .bind(new.iter().map(|(one, _)| one.recipient.get()).collect::<Vec<_>>())
        .bind(new.iter().map(|(one, _)| one.kind).collect::<Vec<_>>())
        .bind(new.iter().map(|(_, about)| about.author.get()).collect::<Vec<_>>())
        .bind(new.iter().map(|(one, _)| one.comment.get()).collect::<Vec<_>>())
        .bind(new.iter().map(|(_, about)| about.note.get()).collect::<Vec<_>>());
    let written: Vec<(UserId, i16, CommentId)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    for (recipient, kind, comment) in &written {
        let Some(kind) = InboxKind::from_number(*kind) else { continue };
        let actor = shown.get(comment).map(|about| about.author);
        let notice = NewEvent::now(EventKind::Notice(kind), actor, comment.0);
        events::record(tx, notice.with_recipient(*recipient));
    }
    Ok(written.into_iter().map(|(recipient, ..)| recipient).collect())
}
