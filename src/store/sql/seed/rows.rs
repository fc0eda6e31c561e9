//! Inserts of demo data: one statement per table, with an array per column.

use crate::{
    StoreResult,
    sql::{
        Tx,
        counting::edges::{entity_table, owner_column},
        from_catalogue,
        times::timestamp,
    },
};
use plaudit_catalogue::{EdgeKind, UnixMillis};

/// Columns of notes; all of one length.
pub struct NoteRows<'a> {
    pub ids: Vec<i64>,
    pub authors: Vec<i64>,
    pub titles: Vec<&'a str>,
    pub bodies: Vec<&'a str>,
    pub written_at: Vec<UnixMillis>,
    pub groups: Vec<Option<i64>>,
    /// Only for notes with a group.
    pub featured_at: Vec<Option<UnixMillis>>,
}

/// Columns of the ledger; all of one length.
pub struct GrantRows<'a> {
    pub users: Vec<i64>,
    pub amounts: Vec<i64>,
    /// Balance after each line.
    pub balances: Vec<i64>,
    pub reasons: Vec<&'a str>,
    pub granted_at: Vec<UnixMillis>,
    pub granted_by: i64,
}

pub async fn add_users(
    tx: &mut Tx,
    ids: Vec<i64>,
    subjects: Vec<&str>,
    names: Vec<&str>,
    joined_at: Vec<UnixMillis>,
) -> StoreResult<()> {
    let query = sqlx::query(concat!(
        "INSERT INTO app_user (id, subject, name, created_at) OVERRIDING SYSTEM VALUE
         SELECT id, subject, name, ",
        timestamp!("at"),
        " FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS u (id, subject, name, at)"
    ))
    .bind(ids)
    .bind(subjects)
    .bind(names)
    .bind(joined_at);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

pub async fn add_groups(
    tx: &mut Tx,
    ids: Vec<i64>,
    owners: Vec<i64>,
    names: Vec<&str>,
    descriptions: Vec<&str>,
    founded_at: Vec<UnixMillis>,
) -> StoreResult<()> {
    let query = sqlx::query(concat!(
        "INSERT INTO app_group (id, owner_id, name, description, created_at) OVERRIDING SYSTEM VALUE
         SELECT id, owner, name, description, ",
        timestamp!("at"),
        " FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[])
          AS g (id, owner, name, description, at)"
    ))
    .bind(ids)
    .bind(owners)
    .bind(names)
    .bind(descriptions)
    .bind(founded_at);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Their groups must exist already.
pub async fn add_notes(tx: &mut Tx, notes: NoteRows<'_>) -> StoreResult<()> {
    let query = sqlx::query(concat!(
        "INSERT INTO note (id, author_id, title, body, created_at, group_id, featured_at)
         OVERRIDING SYSTEM VALUE SELECT id, author, title, body, ",
        timestamp!("written"),
        ", grp, ",
        timestamp!("featured"),
        " FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[])
          AS n (id, author, title, body, written, grp, featured)"
    ))
    .bind(notes.ids)
    .bind(notes.authors)
    .bind(notes.titles)
    .bind(notes.bodies)
    .bind(notes.written_at)
    .bind(notes.groups)
    .bind(notes.featured_at);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// A parent must be among these comments or exist already.
pub async fn add_comments(
    tx: &mut Tx,
    ids: Vec<i64>,
    notes: Vec<i64>,
    authors: Vec<i64>,
    parents: Vec<Option<i64>>,
    written_at: Vec<UnixMillis>,
) -> StoreResult<()> {
    let query = sqlx::query(concat!(
        "INSERT INTO comment_index (id, note_id, author_id, parent_id, state, created_at) OVERRIDING SYSTEM VALUE
         SELECT id, note, author, parent, 'approved', ",
        timestamp!("at"),
        " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[])
          AS c (id, note, author, parent, at)"
    ))
    .bind(ids)
    .bind(notes)
    .bind(authors)
    .bind(parents)
    .bind(written_at);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

pub async fn add_comment_bodies(tx: &mut Tx, ids: Vec<i64>, bodies: Vec<&str>) -> StoreResult<()> {
    let query =
        sqlx::query("INSERT INTO comment_body (id, body) SELECT * FROM unnest($1::bigint[], $2::text[])")
            .bind(ids)
            .bind(bodies);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Positions at which edges were told: of those that are read, and of the others.
pub(super) const READ: i64 = 1;
pub(super) const UNREAD: i64 = 2;

/// Edges that are on and included. Their targets exist already, and their owners have read what was before
/// `read_before`.
pub async fn add_edges(
    tx: &mut Tx,
    kind: EdgeKind,
    actors: Vec<i64>,
    targets: Vec<i64>,
    since: Vec<UnixMillis>,
    read_before: UnixMillis,
) -> StoreResult<()> {
    let told = match kind.notifies() {
        Some(_) => format!(
            "CASE WHEN t.{owner} = actor THEN 0 WHEN edge.at < $4 THEN {READ} ELSE {UNREAD} END",
            owner = owner_column(kind.target()),
        ),
        None => "0 * $4::bigint".to_owned(),
    };
    let text = format!(
        "INSERT INTO {edges} (actor_id, target_id, is_on, included, created_at, changed_at, told)
         SELECT actor, target, true, true, {at}, {at}, {told}
         FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS edge (actor, target, at)
         JOIN {targets} AS t ON t.id = target",
        edges = kind.name(),
        targets = entity_table(kind.target()),
        at = timestamp!("edge.at"),
    );
    let query = sqlx::query(from_catalogue(text)).bind(actors).bind(targets).bind(since).bind(read_before);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Sets the views of notes. They have no rows to count.
pub async fn set_views(tx: &mut Tx, ids: Vec<i64>, views: Vec<i64>) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE note_counts AS c SET views = v.views
         FROM unnest($1::bigint[], $2::bigint[]) AS v (id, views) WHERE c.id = v.id",
    )
    .bind(ids)
    .bind(views);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// Lines of the ledger, in order.
pub async fn add_grants(tx: &mut Tx, grants: GrantRows<'_>) -> StoreResult<()> {
    let query = sqlx::query(concat!(
        "INSERT INTO coin_ledger (user_id, amount, balance_after, reason, granted_by, created_at)
         SELECT recipient, amount, balance, reason, $6, ",
        timestamp!("at"),
        " FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[]) WITH ORDINALITY
          AS g (recipient, amount, balance, reason, at, line) ORDER BY line"
    ))
    .bind(grants.users)
    .bind(grants.amounts)
    .bind(grants.balances)
    .bind(grants.reasons)
    .bind(grants.granted_at)
    .bind(grants.granted_by);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}
