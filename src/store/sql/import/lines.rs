//! Rows as the lines of an import. An export reads what everybody sees, section by section, each along its primary key,
//! so that a line names only what comes before it. A dry run reads what is stored of the rows that its lines are about.
//!
//! What has no key is named by its id and the installation's: `note_42@<uuid>`. No other installation makes
//! such a key, so it meets no real one where the lines are imported; `names` finds it where they come from.

use std::borrow::Cow;

use crate::{
    StoreResult,
    sql::{Tx, counting::edges::entity_table, from_catalogue},
};
use plaudit_catalogue::{CARRIED, Counter, EdgeKind, EntityKind};

/// What lines are about: a section of an export.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum LineSection {
    /// Users, groups, notes or comments.
    Things(EntityKind),
    Edges(EdgeKind),
    Ratings,
    Carried(Counter),
}

/// A primary key of one or two columns; the second is 0 if there is none.
pub type RowKey = (i64, i64);

/// How far an export is: the number of its section, and the primary key of the last row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinePosition {
    section: usize,
    after: RowKey,
}

/// Lines, and where the next ones begin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LinePage {
    /// JSON objects.
    pub lines: Vec<String>,
    /// Rows that have none, because not everybody sees them.
    pub left_out: usize,
    pub end: LinePosition,
}

/// What a line names of what its row refers to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Naming {
    /// What everybody sees.
    Public,
    /// All that is stored.
    Stored,
}

impl Naming {
    /// Whether a line names an entity.
    fn names(self, kind: EntityKind, alias: &str) -> String {
        match self {
            Self::Public => is_public(kind, alias),
            Self::Stored => format!("{alias}.id IS NOT NULL"),
        }
    }
}

/// The rows of a table, as `r`.
struct TableSection {
    table: Cow<'static, str>,
    /// The primary key.
    keys: &'static [&'static str],
    /// What the line names, at most one row each.
    joins: String,
    /// Whether everybody sees it.
    is_public: String,
    /// Arguments of `json_build_object`; nulls are left out.
    fields: String,
}

impl LineSection {
    /// In the order of an export.
    fn all() -> impl Iterator<Item = Self> {
        [EntityKind::User, EntityKind::Group, EntityKind::Note, EntityKind::Comment]
            .map(Self::Things)
            .into_iter()
            .chain(EdgeKind::ALL.iter().copied().map(Self::Edges))
            .chain([Self::Ratings])
            .chain(CARRIED.map(Self::Carried))
    }

    fn table(self, naming: Naming) -> TableSection {
        match self {
            Self::Things(EntityKind::User | EntityKind::Inbox) => users(),
            Self::Things(EntityKind::Group) => groups(),
            Self::Things(EntityKind::Note) => notes(naming),
            Self::Things(EntityKind::Comment) => comments(naming),
            Self::Edges(kind) => edges(kind),
            Self::Ratings => ratings(),
            Self::Carried(counter) => carried(counter, naming),
        }
    }
}

impl TableSection {
    /// Reads rows behind `$1, $2`, `$3` at most. The page is cut before the joins: it is found along the primary key,
    /// and rows that nobody sees move the position, too.
    fn public_page(&self) -> String {
        let (order, second) = (self.keys.join(", "), self.second_key());
        let behind = match self.keys {
            [_, _] => format!("({order}) > ($1, $2)"),
            _ => format!("{order} > $1 AND $2::bigint >= 0"),
        };
        let Self { table, joins, is_public, fields, .. } = self;
        format!(
            "SELECT r.{first}, {second},
                    CASE WHEN {is_public} THEN json_strip_nulls(json_build_object({fields}))::text END
             FROM (SELECT * FROM {table} WHERE {behind} ORDER BY {order} LIMIT $3) AS r {joins} ORDER BY 1, 2",
            first = self.keys[0],
        )
    }

    /// Reads the rows with the primary keys `$1, $2`.
    fn rows(&self) -> String {
        let Self { table, keys, joins, fields, .. } = self;
        let (row, wanted) = match keys {
            [_, _] => (keys.join(", "), "first, second"),
            _ => (keys.join(", "), "first"),
        };
        format!(
            "SELECT r.{first}, {second}, json_strip_nulls(json_build_object({fields}))::text
             FROM (SELECT * FROM {table} WHERE ({row}) IN
                       (SELECT {wanted} FROM unnest($1::bigint[], $2::bigint[]) AS wanted (first, second))) AS r {joins}",
            first = keys[0],
            second = self.second_key(),
        )
    }

    fn second_key(&self) -> String {
        self.keys.get(1).map_or_else(|| "0::bigint".to_owned(), |key| format!("r.{key}"))
    }
}

fn users() -> TableSection {
    TableSection {
        table: "app_user".into(),
        keys: &["id"],
        joins: String::new(),
        is_public: "r.subject IS NOT NULL".into(),
        fields: format!(
            "'type', 'user', 'subject', r.subject, 'name', r.name, 'avatarUrl', r.avatar_url, 'at', {}",
            time("r.created_at")
        ),
    }
}

fn groups() -> TableSection {
    TableSection {
        table: "app_group".into(),
        keys: &["id"],
        joins: "LEFT JOIN app_user AS o ON o.id = r.owner_id".into(),
        is_public: "r.removed_at IS NULL AND o.subject IS NOT NULL".into(),
        fields: format!(
            "'type', 'group', 'key', {}, 'owner', o.subject, 'name', r.name,
             'description', nullif(r.description, ''), 'at', {}",
            key(EntityKind::Group, "r"),
            time("r.created_at"),
        ),
    }
}

fn notes(naming: Naming) -> TableSection {
    let in_group = naming.names(EntityKind::Group, "g");
    TableSection {
        table: "note".into(),
        keys: &["id"],
        joins: "LEFT JOIN app_user AS a ON a.id = r.author_id LEFT JOIN app_group AS g ON g.id = r.group_id"
            .into(),
        is_public: format!("r.is_shown AND {}", is_visible("a")),
        fields: format!(
            "'type', 'note', 'key', {}, 'author', a.subject, 'group', CASE WHEN {in_group} THEN {} END, 'url', r.url,
             'title', nullif(r.title, ''), 'body', nullif(r.body, ''), 'at', {}, 'featuredAt', CASE WHEN {in_group} THEN {} END",
            key(EntityKind::Note, "r"),
            key(EntityKind::Group, "g"),
            time("r.created_at"),
            time("r.featured_at"),
        ),
    }
}

/// A reply to a comment that nobody sees stands one level higher.
fn comments(naming: Naming) -> TableSection {
    let answered = |alias: &str| {
        format!("WHEN {} THEN {}", naming.names(EntityKind::Comment, alias), key(EntityKind::Comment, alias))
    };
    TableSection {
        table: "comment_index".into(),
        keys: &["id"],
        joins: "LEFT JOIN comment_body AS b ON b.id = r.id
             LEFT JOIN app_user AS a ON a.id = r.author_id
             LEFT JOIN note AS n ON n.id = r.note_id
             LEFT JOIN comment_index AS answered ON answered.id = r.reply_to_id
             LEFT JOIN comment_index AS parent ON parent.id = r.parent_id"
            .into(),
        is_public: format!(
            "r.is_counted AND {} AND {}",
            is_visible("a"),
            is_public(EntityKind::Note, "n")
        ),
        fields: format!(
            "'type', 'comment', 'key', {}, 'note', {}, 'author', a.subject, 'replyTo', CASE {} {} END, 'body', b.body,
             'images', CASE WHEN b.images <> '{{}}' THEN to_json(b.images) END, 'at', {}",
            key(EntityKind::Comment, "r"),
            key(EntityKind::Note, "n"),
            answered("answered"),
            answered("parent"),
            time("r.created_at"),
        ),
    }
}

/// Edges that count, and those that were taken back.
fn edges(kind: EdgeKind) -> TableSection {
    let (line, target) = match kind {
        EdgeKind::NoteLike => ("like", "note"),
        EdgeKind::CommentLike => ("like", "comment"),
        EdgeKind::NoteCollect => ("collect", "note"),
        EdgeKind::Follow => ("follow", "target"),
        EdgeKind::GroupJoin => ("join", "group"),
    };
    let named = kind.target();
    TableSection {
        table: kind.name().into(),
        keys: &["actor_id", "target_id"],
        joins: format!(
            "LEFT JOIN app_user AS a ON a.id = r.actor_id LEFT JOIN {} AS t ON t.id = r.target_id",
            entity_table(named)
        ),
        is_public: format!(
            "(r.included OR NOT r.is_on) AND {} AND {}",
            is_visible("a"),
            is_public(named, "t")
        ),
        fields: format!(
            "'type', '{line}', 'user', a.subject, '{target}', {}, 'on', CASE WHEN NOT r.is_on THEN false END, 'at', {}",
            key(named, "t"),
            time("r.changed_at"),
        ),
    }
}

fn ratings() -> TableSection {
    TableSection {
        table: "note_rating".into(),
        keys: &["user_id", "note_id"],
        joins: "LEFT JOIN app_user AS a ON a.id = r.user_id LEFT JOIN note AS n ON n.id = r.note_id".into(),
        is_public: format!("r.included AND {} AND {}", is_visible("a"), is_public(EntityKind::Note, "n")),
        fields: format!(
            "'type', 'rating', 'user', a.subject, 'note', {}, 'score', r.score, 'at', {}",
            key(EntityKind::Note, "n"),
            time("r.changed_at"),
        ),
    }
}

/// What totals include that has no rows. Of views and coins an export has the whole totals.
fn carried(counter: Counter, naming: Naming) -> TableSection {
    let (kind, name) = (counter.kind().name(), counter.name());
    let is_whole = naming == Naming::Public && matches!(counter, Counter::NoteViews | Counter::UserCoins);
    let (table, from) = if is_whole {
        (format!("{kind}_counts WHERE {name} > 0) AS k"), "(SELECT id FROM installation)")
    } else {
        (format!("carried_total WHERE kind = '{kind}' AND counter = '{name}' AND value > 0) AS k"), "NULL")
    };
    TableSection {
        table: format!("(SELECT id, {} AS value FROM {table}", if is_whole { name } else { "value" }).into(),
        keys: &["id"],
        joins: format!("LEFT JOIN {} AS t ON t.id = r.id", entity_table(counter.kind())),
        is_public: is_public(counter.kind(), "t"),
        fields: format!(
            "'type', 'carried', '{kind}', {}, 'counter', '{name}', 'value', r.value, 'from', {from}",
            key(counter.kind(), "t")
        ),
    }
}

fn is_visible(user: &str) -> String {
    format!("{user}.subject IS NOT NULL AND {user}.hidden_at IS NULL")
}

/// Whether a line of an entity is in the export, for one that a line names.
fn is_public(kind: EntityKind, alias: &str) -> String {
    let by = |column: &str, condition: &str| {
        format!("EXISTS (SELECT FROM app_user AS u WHERE u.id = {alias}.{column} AND {condition})")
    };
    let visible = is_visible("u");
    match kind {
        EntityKind::Group => {
            format!("{alias}.removed_at IS NULL AND {}", by("owner_id", "u.subject IS NOT NULL"))
        }
        EntityKind::Note => format!("{alias}.is_shown AND {}", by("author_id", &visible)),
        EntityKind::Comment => format!(
            "{alias}.is_counted AND {} AND EXISTS (SELECT FROM note AS m WHERE m.id = {alias}.note_id AND {})",
            by("author_id", &visible),
            "m.is_shown AND EXISTS (SELECT FROM app_user AS w WHERE w.id = m.author_id AND w.subject IS NOT NULL
             AND w.hidden_at IS NULL)",
        ),
        EntityKind::User | EntityKind::Inbox => format!("{alias}.subject IS NOT NULL"),
    }
}

/// How lines name an entity.
fn key(kind: EntityKind, alias: &str) -> String {
    match kind {
        EntityKind::User | EntityKind::Inbox => format!("{alias}.subject"),
        _ => {
            let name = kind.name();
            format!("coalesce({alias}.key, '{name}_' || {alias}.id || '@' || (SELECT id FROM installation))")
        }
    }
}

/// A time, to the millisecond, which all times of an import have.
fn time(column: &str) -> String {
    format!(r#"to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"#)
}

/// Makes all statements of the transaction read the state at the first one. The transaction may wait for the reader of
/// its lines, because it locks no row. Call it first.
pub async fn read_one_snapshot(tx: &mut Tx) -> StoreResult<()> {
    let query = sqlx::query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    let query = sqlx::query("SELECT set_config('idle_in_transaction_session_timeout', '0', true)");
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// The next lines, from at most `most` rows; `None` at the end.
pub async fn public_lines(tx: &mut Tx, from: LinePosition, most: usize) -> StoreResult<Option<LinePage>> {
    let LinePosition { section: number, after: (first, second) } = from;
    let Some(section) = LineSection::all().nth(number) else { return Ok(None) };
    let text = section.table(Naming::Public).public_page();
    let query = sqlx::query_as(from_catalogue(text)).bind(first).bind(second).bind(most as i64);
    let rows: Vec<(i64, i64, Option<String>)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    let end = match rows.last() {
        Some((first, second, _)) if rows.len() == most => {
            LinePosition { section: number, after: (*first, *second) }
        }
        _ => LinePosition { section: number + 1, after: (0, 0) },
    };
    let read = rows.len();
    let lines: Vec<String> = rows.into_iter().filter_map(|(_, _, line)| line).collect();
    let left_out = read - lines.len();
    Ok(Some(LinePage { lines, left_out, end }))
}

/// The rows with these primary keys as lines, also hidden and removed rows; a carried number is the number that was
/// set. A key without a row has no line.
pub async fn stored_lines(
    tx: &mut Tx,
    section: LineSection,
    rows: &[RowKey],
) -> StoreResult<Vec<(RowKey, String)>> {
    let (first, second): (Vec<i64>, Vec<i64>) = rows.iter().copied().unzip();
    let text = section.table(Naming::Stored).rows();
    let query = sqlx::query_as(from_catalogue(text)).bind(first).bind(second);
    let rows: Vec<(i64, i64, String)> = tx.db.run(query.fetch_all(&mut *tx.inner)).await?;
    Ok(rows.into_iter().map(|(first, second, line)| ((first, second), line)).collect())
}
