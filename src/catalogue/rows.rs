//! What users, notes, comments and groups have: a line for each table of rows. It says whose the rows are, which
//! counters they move, and what becomes of them when their user is hidden, restored, exported or erased, or when
//! the thing is removed. Each of these operations reads these lines.

use super::{Counter, EdgeKind, EntityKind, Party};

/// One counter that a row moves while it counts.
#[derive(Clone, Copy)]
pub struct RowMove {
    pub counter: Counter,
    /// The column that names whose counter it is.
    pub of: &'static str,
    /// That column is one of the row's target, and the row counts only while everybody sees the target.
    pub is_of_owner: bool,
    /// SQL: the number.
    pub by: &'static str,
    /// SQL: a condition beyond [`Rows::counted`].
    pub only: &'static str,
    /// The total stands still once the target is removed.
    pub ends_with_target: bool,
}

/// The rows of one table that belong to users. In the SQL `r` is the row, and `o` its target.
#[derive(Clone, Copy)]
pub struct Rows {
    pub table: &'static str,
    /// The column that names the user whose row it is.
    pub user: &'static str,
    /// The column that distinguishes rows of one user, by which pages go on.
    pub key: &'static str,
    /// The rows are things of this kind, by their column `id`.
    pub thing: Option<EntityKind>,
    /// What a row is about: the column that names it, and its kind.
    pub target: Option<(&'static str, EntityKind)>,
    pub edge: Option<EdgeKind>,
    /// SQL: totals include the row.
    pub counted: &'static str,
    /// Edges have their moves in [`EdgeKind::moves`]; see [`Rows::moves`].
    own_moves: &'static [RowMove],
    /// SQL: which rows change when their user is hidden, and how; and when the user is restored. None: they stay.
    pub hiding: Option<[[&'static str; 2]; 2]>,
    /// A statement about other tables of removed things, whose ids are `$1`. A removal of notes has the trigger
    /// `withdraw_note`.
    pub on_removal: &'static str,
    /// The same for erasures, and when texts of removed things are emptied.
    pub on_erasure: Option<&'static str>,
    /// SQL: whether a removed thing has texts, which are kept for a while; and what empties them.
    pub texts: Option<[&'static str; 2]>,
    /// An erasure deletes the rows as they are. Others have a stage of their own in src/counting/jobs/erasing.rs.
    pub is_deleted: bool,
    /// What a record of an export is; empty if the rows are not exported.
    pub record: &'static str,
    /// SQL: arguments of `jsonb_build_object`.
    pub fields: &'static str,
    /// SQL: a table that is joined for them.
    pub join: &'static str,
    /// SQL: sections of the rows, which are exported one after the other.
    pub sections: &'static [&'static str],
}

const NONE: Rows = Rows {
    table: "",
    user: "",
    key: "",
    thing: None,
    target: None,
    edge: None,
    counted: "true",
    own_moves: &[],
    hiding: None,
    on_removal: "",
    on_erasure: None,
    texts: None,
    is_deleted: false,
    record: "",
    fields: "",
    join: "",
    sections: &["true"],
};

/// SQL: a field of an exported thing of a kind: the numbers that it carries.
macro_rules! carried {
    ($kind:literal) => {
        concat!(
            "'carried', (SELECT jsonb_object_agg(k.counter, k.value) FROM carried_total AS k WHERE k.kind = '",
            $kind,
            "' AND k.id = r.id)"
        )
    };
}

/// SQL: the same of its decisions.
macro_rules! decisions {
    ($kind:literal) => {
        concat!(
            "'decisions', (SELECT jsonb_agg(jsonb_build_object('verdict', d.verdict, 'reason', d.reason,
                                                               'at', d.decided_at))
                           FROM decision AS d WHERE d.kind = '",
            $kind,
            "' AND d.target_id = r.id)"
        )
    };
}

/// The users themselves. An erasure empties the row at once.
const USERS: Rows = Rows {
    thing: Some(EntityKind::User),
    record: "user",
    fields: concat!(
        "'id', 'user_' || r.id, 'subject', r.subject, 'name', r.name, 'avatarUrl', r.avatar_url,
         'createdAt', r.created_at, 'hiddenAt', r.hidden_at, 'suspendedUntil', r.suspended_until,
         'suspensionReason', r.suspension_reason,
         ",
        carried!("user")
    ),
    ..rows("app_user", "id", "id")
};

pub const NOTES: Rows = Rows {
    thing: Some(EntityKind::Note),
    target: Some(("group_id", EntityKind::Group)),
    counted: "r.is_shown",
    own_moves: &[
        one(Counter::UserNotes, "author_id"),
        one(Counter::GroupNotes, "group_id"),
        RowMove {
            only: "r.featured_at IS NOT NULL",
            ..one(Counter::GroupFeaturedNotes, "group_id")
        },
    ],
    hiding: Some([
        ["r.is_shown", "is_hidden = true"],
        ["NOT r.is_shown AND r.removed_at IS NULL AND r.is_hidden", "is_hidden = false"],
    ]),
    texts: Some(["title <> '' OR body <> ''", "title = '', body = '', url = NULL"]),
    on_erasure: Some("DELETE FROM decision WHERE kind = 'note' AND target_id = ANY($1)"),
    record: "note",
    fields: concat!(
        "'id', 'note_' || r.id, 'key', r.key, 'url', r.url, 'group', 'group_' || r.group_id, 'title', nullif(r.title, ''),
        'body', nullif(r.body, ''), 'state', r.state, 'createdAt', r.created_at, 'editedAt', r.edited_at,
        'removedAt', r.removed_at,
        ",
        carried!("note"),
        ", 'edit', (SELECT jsonb_strip_nulls(jsonb_build_object(
                     'title', nullif(e.title, ''), 'body', nullif(e.body, ''), 'createdAt', e.created_at,
                     'rejectedBecause', e.rejected_because))
                 FROM edit AS e WHERE e.kind = 'note' AND e.target_id = r.id),
        ",
        decisions!("note")
    ),
    // Each condition is the predicate of an index.
    sections: &[
        "r.is_shown",
        "NOT r.is_shown AND r.removed_at IS NULL",
        "r.removed_at IS NOT NULL AND (r.title <> '' OR r.body <> '')",
    ],
    ..rows("note", "author_id", "id")
};

pub const COMMENTS: Rows = Rows {
    thing: Some(EntityKind::Comment),
    target: Some(("note_id", EntityKind::Note)),
    counted: "r.is_counted",
    own_moves: &[
        RowMove { only: "NOT r.note_is_hidden", ..one(Counter::UserComments, "author_id") },
        ending(one(Counter::NoteComments, "note_id")),
        ending(one(Counter::CommentReplies, "parent_id")),
    ],
    hiding: Some([
        ["r.removed_at IS NULL AND NOT r.is_hidden", "is_hidden = true"],
        ["r.removed_at IS NULL AND r.is_hidden", "is_hidden = false"],
    ]),
    on_removal: "WITH text AS (UPDATE comment_body SET body = '', images = '{}', mentions = '{}' WHERE id = ANY($1)),
         edits AS (DELETE FROM edit WHERE kind = 'comment' AND target_id = ANY($1)),
         queued AS (DELETE FROM submission WHERE kind = 'comment' AND target_id = ANY($1))
         UPDATE decision SET is_shown = false WHERE kind = 'comment' AND target_id = ANY($1) AND is_shown",
    on_erasure: Some("DELETE FROM decision WHERE kind = 'comment' AND target_id = ANY($1)"),
    record: "comment",
    join: "JOIN comment_body AS b ON b.id = r.id",
    fields: concat!(
        "'id', 'comment_' || r.id, 'key', r.key, 'note', 'note_' || r.note_id, 'replyTo', 'comment_' || coalesce(r.reply_to_id, r.parent_id),
        'body', b.body, 'images', b.images, 'mentions', b.mentions, 'state', r.state, 'createdAt', r.created_at,
        'editedAt', r.edited_at, 'removedAt', r.removed_at,
        'edit', (SELECT jsonb_strip_nulls(jsonb_build_object(
                     'body', e.body, 'images', e.images, 'mentions', e.mentions, 'createdAt', e.created_at,
                     'rejectedBecause', e.rejected_because))
                 FROM edit AS e WHERE e.kind = 'comment' AND e.target_id = r.id),
        ",
        decisions!("comment")
    ),
    ..rows("comment_index", "author_id", "id")
};

/// A group stays with its members when its owner is erased.
pub const GROUPS: Rows = Rows {
    thing: Some(EntityKind::Group),
    texts: Some(["name <> '' OR description <> ''", "name = '', description = ''"]),
    record: "group",
    fields: "'id', 'group_' || r.id, 'key', r.key, 'name', r.name, 'description', r.description, 'createdAt', r.created_at",
    ..rows("app_group", "owner_id", "id")
};

pub const RATINGS: Rows = Rows {
    target: Some(("note_id", EntityKind::Note)),
    counted: "r.included",
    own_moves: &[
        ending(one(Counter::NoteRatings, "note_id")),
        ending(RowMove { by: "r.score", ..one(Counter::NoteRatingSum, "note_id") }),
    ],
    hiding: Some([["r.included", "included = false"], ["NOT r.included", "included = true"]]),
    is_deleted: true,
    record: "rating",
    fields: "'note', 'note_' || r.note_id, 'score', r.score, 'createdAt', r.created_at, 'changedAt', r.changed_at",
    ..rows("note_rating", "user_id", "note_id")
};

const REPORTS: Rows = Rows {
    record: "report",
    join: "JOIN report_case AS c ON c.id = r.case_id",
    fields: "'about', c.about, 'reason', r.reason, 'text', r.text, 'createdAt', r.created_at, 'closedAt', c.closed_at",
    ..rows("report", "reporter_id", "case_id")
};

const INBOX: Rows = Rows {
    is_deleted: true,
    record: "inboxEntry",
    fields: "'kind', r.kind, 'target', r.target_id, 'actors', r.actors, 'unread', r.unread, 'createdAt', r.created_at",
    ..rows("inbox_entry", "recipient_id", "id")
};

const COINS: Rows = Rows {
    own_moves: &[RowMove { by: "r.amount", ..one(Counter::UserCoins, "user_id") }],
    is_deleted: true,
    record: "coins",
    fields: "'amount', r.amount, 'balance', r.balance_after, 'reason', r.reason, 'createdAt', r.created_at",
    ..rows("coin_ledger", "user_id", "id")
};

/// Not exported: a key says nothing without its action.
const KEYS: Rows = Rows { is_deleted: true, ..rows("idempotency_key", "actor_id", "key") };

impl Rows {
    /// Every line, in the order in which rows are hidden and exported: what is seen most goes first.
    pub fn all() -> impl Iterator<Item = Self> {
        let lines = [USERS, NOTES, COMMENTS, GROUPS, RATINGS, REPORTS, INBOX, COINS, KEYS];
        lines.into_iter().chain(EdgeKind::ALL.iter().map(|kind| Self::of_edge(*kind)))
    }

    /// The edges of an actor.
    pub const fn of_edge(kind: EdgeKind) -> Self {
        Self {
            target: Some(("target_id", kind.target())),
            edge: Some(kind),
            counted: "r.included",
            hiding: Some([
                ["r.included", "included = false"],
                ["r.is_on AND NOT r.included AND o.removed_at IS NULL", "included = true"],
            ]),
            is_deleted: true,
            // The fields, which name the kind of target, are in src/store/sql/people/export.rs.
            record: kind.name(),
            ..rows(kind.name(), "actor_id", "target_id")
        }
    }

    /// What an erasure deletes as it is: with edges that have the user as their target.
    pub fn deleted() -> impl Iterator<Item = Self> {
        let is_of_user = |rows: &Self| matches!(rows.target, Some((_, EntityKind::User)));
        let as_target = |rows: Self| Self { user: rows.key, key: rows.user, ..rows };
        let to_user = Self::all().filter(is_of_user).map(as_target);
        Self::all().chain(to_user).filter(|rows| rows.is_deleted)
    }

    /// The counters that a row moves.
    pub fn moves(&self) -> Vec<RowMove> {
        let Some(kind) = self.edge else { return self.own_moves.to_vec() };
        let row_move = |m: &super::Move| RowMove {
            is_of_owner: m.party == Party::Owner,
            // Of other kinds a removal of the target excludes each edge, page by page.
            ends_with_target: !kind.counts_for_actor(),
            ..one(
                m.counter,
                match m.party {
                    Party::Actor => "actor_id",
                    Party::Target => "target_id",
                    Party::Owner => owner_column(kind.target()),
                },
            )
        };
        kind.moves().iter().map(row_move).collect()
    }
}

/// The table of the things of a kind.
pub const fn entity_table(kind: EntityKind) -> &'static str {
    line_of(kind).table
}

/// The column of that table with the thing's owner.
pub const fn owner_column(kind: EntityKind) -> &'static str {
    line_of(kind).user
}

/// Condition on that table: the thing is shown to everybody.
pub const fn is_shown(kind: EntityKind) -> &'static str {
    match kind {
        EntityKind::Note => "is_shown",
        EntityKind::User | EntityKind::Inbox | EntityKind::Comment | EntityKind::Group => {
            "removed_at IS NULL"
        }
    }
}

const fn line_of(kind: EntityKind) -> Rows {
    match kind {
        EntityKind::User | EntityKind::Inbox => USERS,
        EntityKind::Note => NOTES,
        EntityKind::Comment => COMMENTS,
        EntityKind::Group => GROUPS,
    }
}

const fn rows(table: &'static str, user: &'static str, key: &'static str) -> Rows {
    Rows { table, user, key, ..NONE }
}

const fn one(counter: Counter, of: &'static str) -> RowMove {
    RowMove { counter, of, is_of_owner: false, by: "1", only: "true", ends_with_target: false }
}

const fn ending(row_move: RowMove) -> RowMove {
    RowMove { ends_with_target: true, ..row_move }
}
