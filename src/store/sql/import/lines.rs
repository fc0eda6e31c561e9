//! What everybody sees, as the lines of an import: section by section, each along its primary key, so that a line names
//! only what comes before it.
//!
//! What has no key is named by its id and the installation's: `note_42@<uuid>`. No other installation makes
//! such a key, so it meets no real one where the lines are imported; `names` finds it where they come from.

use std::borrow::Cow;

use crate::{
    StoreResult,
    sql::{Tx, counting::edges::entity_table, from_catalogue},
};
use plaudit_catalogue::{CARRIED, Counter, EdgeKind, EntityKind};

/// How far an export is: the number of its section, and the primary key of the last row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinePosition {
    section: usize,
    after: (i64, i64),
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

impl TableSection {
    /// Reads rows behind `$1, $2`, `$3` at most. The page is cut before the joins: it is found along the primary key,
    /// and rows that nobody sees move the position, too.
    fn query(&self) -> String {
        let Self { table, keys, joins, is_public, fields } = self;
        let order = keys.join(", ");
        let (second, behind) = match keys {
            [_, second] => (format!("r.{second}"), format!("({order}) > ($1, $2)")),
            _ => ("0::bigint".to_owned(), format!("{order} > $1 AND $2::bigint >= 0")),
        };
        format!(
            "SELECT r.{first}, {second},
                    CASE WHEN {is_public} THEN json_strip_nulls(json_build_object({fields}))::text END
             FROM (SELECT * FROM {table} WHERE {behind} ORDER BY {order} LIMIT $3) AS r {joins} ORDER BY 1, 2",
            first = keys[0],
        )
    }
}

fn sections() -> Vec<TableSection> {
    let mut all = vec![users(), groups(), notes(), comments()];
    all.extend(EdgeKind::ALL.iter().map(|kind| edges(*kind)));
    all.push(ratings());
    all.extend(CARRIED.into_iter().map(carried));
    all
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

fn notes() -> TableSection {
    TableSection {
        table: "note".into(),
        keys: &["id"],
        joins: "LEFT JOIN app_user AS a ON a.id = r.author_id LEFT JOIN app_group AS g ON g.id = r.group_id"
            .into(),
        is_public: format!("r.is_shown AND {}", is_visible("a")),
        fields: format!(
            "'type', 'note', 'key', {}, 'author', a.subject, 'group', CASE WHEN {} THEN {} END, 'url', r.url,
             'title', r.title, 'body', r.body, 'at', {}, 'featuredAt', CASE WHEN {} THEN {} END",
            key(EntityKind::Note, "r"),
            is_public(EntityKind::Group, "g"),
            key(EntityKind::Group, "g"),
            time("r.created_at"),
            is_public(EntityKind::Group, "g"),
            time("r.featured_at"),
        ),
    }
}

/// A reply to a comment that nobody sees stands one level higher.
fn comments() -> TableSection {
    let answered = |alias: &str| {
        format!("WHEN {} THEN {}", is_public(EntityKind::Comment, alias), key(EntityKind::Comment, alias))
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

/// What totals include that has no rows, or whose rows are in no line: of views and coins it is the whole total.
fn carried(counter: Counter) -> TableSection {
    let (kind, name) = (counter.kind().name(), counter.name());
    let is_whole = matches!(counter, Counter::NoteViews | Counter::UserCoins);
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

/// Makes all its statements read the state at the first of them. It may wait for whoever takes what it reads: it
/// locks nothing that others change. Call it first.
pub async fn read_one_snapshot(tx: &mut Tx) -> StoreResult<()> {
    let query = sqlx::query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY");
    tx.db.run(query.execute(&mut *tx.inner)).await?;
    let query = sqlx::query("SELECT set_config('idle_in_transaction_session_timeout', '0', true)");
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// The next lines, from at most `most` rows; `None` at the end.
pub async fn public_lines(tx: &mut Tx, from: LinePosition, most: usize) -> StoreResult<Option<LinePage>> {
    let LinePosition { section: number, after: (first, second) } = from;
    let Some(section) = sections().into_iter().nth(number) else { return Ok(None) };
    let query = sqlx::query_as(from_catalogue(section.query())).bind(first).bind(second).bind(most as i64);
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
