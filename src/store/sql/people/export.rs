//! Export: all that is held of one user, as JSON records, section by section, each along an index.

use std::{fmt, str::FromStr};

use crate::{
    StoreResult,
    sql::{Db, content::notes::after_note, from_catalogue},
};
use plaudit_catalogue::{
    EdgeKind,
    primitives::{PageRequest, Slice, UserId},
};

/// A record of an export, with its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportedRecord {
    pub position: ExportPosition,
    /// What it is: `user`, `note`, `comment` and so on.
    pub kind: &'static str,
    /// A JSON object on one line.
    pub json: String,
}

/// Position of a record in an export: the number of its section, and its key within it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExportPosition {
    section: usize,
    id: i64,
}

impl fmt::Display for ExportPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.section, self.id)
    }
}

impl FromStr for ExportPosition {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (section, id) = text.split_once('.').ok_or(())?;
        Ok(Self { section: section.parse().map_err(drop)?, id: id.parse().map_err(drop)? })
    }
}

/// A section: what its records are, their fields as arguments of `jsonb_build_object`, the rows of user `$1` that they
/// come from, and the column that is their position.
struct Section {
    kind: &'static str,
    fields: String,
    rows: String,
    key: &'static str,
    /// Whether the rows are notes that are read along their lists, the oldest first. All others are read by
    /// rising position.
    is_by_age: bool,
}

impl Section {
    fn new(kind: &'static str, fields: &str, rows: &str, key: &'static str) -> Self {
        Self { kind, fields: fields.to_owned(), rows: rows.to_owned(), key, is_by_age: false }
    }

    fn notes_by_age(rows: &str) -> Self {
        Self { is_by_age: true, ..Self::new("note", NOTE, rows, "r.id") }
    }

    /// The condition on rows behind position `$2`, and their order.
    fn behind(&self) -> (String, &'static str) {
        if self.is_by_age {
            (after_note("r"), "r.created_at, r.id")
        } else {
            (format!("{} > $2", self.key), self.key)
        }
    }
}

const NOTE: &str = "'id', 'note_' || r.id, 'key', r.key, 'url', r.url, 'group', 'group_' || r.group_id, 'title', r.title, 'body', r.body,
    'state', r.state, 'createdAt', r.created_at, 'editedAt', r.edited_at, 'removedAt', r.removed_at,
    'carried', (SELECT jsonb_object_agg(k.counter, k.value) FROM carried_total AS k
      WHERE k.kind = 'note' AND k.id = r.id),
    'edit', (SELECT jsonb_strip_nulls(jsonb_build_object(
                 'title', e.title, 'body', e.body, 'createdAt', e.created_at, 'rejectedBecause', e.rejected_because))
             FROM edit AS e WHERE e.kind = 'note' AND e.target_id = r.id),
    'decisions', (SELECT jsonb_agg(jsonb_build_object('verdict', d.verdict, 'reason', d.reason, 'at', d.decided_at))
                  FROM decision AS d WHERE d.kind = 'note' AND d.target_id = r.id)";

fn sections() -> Vec<Section> {
    let mut all = vec![
        Section::new(
            "user",
            "'id', 'user_' || r.id, 'subject', r.subject, 'name', r.name, 'avatarUrl', r.avatar_url,
             'createdAt', r.created_at, 'hiddenAt', r.hidden_at, 'suspendedUntil', r.suspended_until,
             'suspensionReason', r.suspension_reason,
             'carried', (SELECT jsonb_object_agg(k.counter, k.value) FROM carried_total AS k
                         WHERE k.kind = 'user' AND k.id = r.id)",
            "app_user AS r WHERE r.id = $1",
            "r.id",
        ),
        Section::notes_by_age("note AS r WHERE r.author_id = $1 AND r.is_shown"),
        Section::notes_by_age("note AS r WHERE r.author_id = $1 AND NOT r.is_shown AND r.removed_at IS NULL"),
        Section::new(
            "note",
            NOTE,
            "note AS r WHERE r.author_id = $1 AND r.removed_at IS NOT NULL AND (r.title <> '' OR r.body <> '')",
            "r.id",
        ),
        Section::new(
            "comment",
            "'id', 'comment_' || r.id, 'key', r.key, 'note', 'note_' || r.note_id, 'replyTo', 'comment_' || coalesce(r.reply_to_id, r.parent_id),
             'body', b.body, 'images', b.images, 'mentions', b.mentions, 'state', r.state, 'createdAt', r.created_at,
             'editedAt', r.edited_at, 'removedAt', r.removed_at,
             'edit', (SELECT jsonb_strip_nulls(jsonb_build_object(
                          'body', e.body, 'images', e.images, 'mentions', e.mentions, 'createdAt', e.created_at,
                          'rejectedBecause', e.rejected_because))
                      FROM edit AS e WHERE e.kind = 'comment' AND e.target_id = r.id),
             'decisions', (SELECT jsonb_agg(jsonb_build_object('verdict', d.verdict,
               'reason', d.reason, 'at', d.decided_at))
                           FROM decision AS d WHERE d.kind = 'comment' AND d.target_id = r.id)",
            "comment_index AS r JOIN comment_body AS b ON b.id = r.id WHERE r.author_id = $1",
            "r.id",
        ),
        Section::new(
            "group",
            "'id', 'group_' || r.id, 'key', r.key, 'name', r.name, 'description', r.description, 'createdAt', r.created_at",
            "app_group AS r WHERE r.owner_id = $1",
            "r.id",
        ),
        Section::new(
            "rating",
            "'note', 'note_' || r.note_id, 'score', r.score, 'createdAt', r.created_at, 'changedAt', r.changed_at",
            "note_rating AS r WHERE r.user_id = $1",
            "r.note_id",
        ),
        Section::new(
            "report",
            "'about', c.about, 'reason', r.reason, 'text', r.text, 'createdAt', r.created_at,
             'closedAt', c.closed_at",
            "report AS r JOIN report_case AS c ON c.id = r.case_id WHERE r.reporter_id = $1",
            "r.case_id",
        ),
        Section::new(
            "inboxEntry",
            "'kind', r.kind, 'target', r.target_id, 'actors', r.actors, 'unread', r.unread, 'createdAt', r.created_at",
            "inbox_entry AS r WHERE r.recipient_id = $1",
            "r.id",
        ),
        Section::new(
            "coins",
            "'amount', r.amount, 'balance', r.balance_after, 'reason', r.reason, 'createdAt', r.created_at",
            "coin_ledger AS r WHERE r.user_id = $1",
            "r.id",
        ),
    ];
    all.extend(EdgeKind::ALL.iter().map(|kind| edges(*kind)));
    all
}

/// Edges, on and off, with every step of the history. The times of an edge bound the steps, so that a target with many
/// is not read whole.
fn edges(kind: EdgeKind) -> Section {
    let (name, number, target) = (kind.name(), kind.number(), kind.target().name());
    Section {
        kind: name,
        fields: format!(
            "'target', '{target}_' || r.target_id, 'isOn', r.is_on, 'createdAt', r.created_at, 'changedAt', r.changed_at,
             'steps', (SELECT jsonb_agg(jsonb_build_object('at', a.at, 'isOn', a.is_on) ORDER BY a.at)
               FROM activity AS a
                       WHERE a.kind = {number} AND a.target_id = r.target_id AND a.actor_id = $1
                         AND a.at BETWEEN r.created_at AND r.changed_at)"
        ),
        rows: format!("{name} AS r WHERE r.actor_id = $1"),
        key: "r.target_id",
        is_by_age: false,
    }
}

/// The next records of a user.
pub async fn exported_records(
    db: &Db,
    user: UserId,
    page: &PageRequest<ExportPosition>,
) -> StoreResult<Slice<ExportedRecord>> {
    let most = page.rows();
    let from = page.after.unwrap_or_default();
    let mut records = Vec::new();
    for (number, section) in sections().into_iter().enumerate().skip(from.section) {
        let after = if number == from.section { from.id } else { 0 };
        let wanted = most - records.len() as i64;
        if wanted <= 0 {
            break;
        }
        let (behind, order) = section.behind();
        let Section { kind, fields, rows, key, .. } = section;
        let text = format!(
            "SELECT {key}, jsonb_strip_nulls(jsonb_build_object('type', '{kind}', {fields}))::text FROM {rows}
             AND {behind} ORDER BY {order} LIMIT $3"
        );
        let query = sqlx::query_as(from_catalogue(text)).bind(user.get()).bind(after).bind(wanted);
        let found: Vec<(i64, String)> = db.run(query.fetch_all(&db.pool())).await?;
        records.extend(found.into_iter().map(|(id, json)| {
            let position = ExportPosition { section: number, id };
            ExportedRecord { position, kind, json }
        }));
    }
    Ok(page.slice(records))
}
