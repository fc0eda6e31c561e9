//! Table `app_group`: reading and creating groups.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{Db, Tx, counting::lists},
};
use plaudit_catalogue::primitives::{GroupId, Id, PageRequest, Ranked, Slice, UserId};

#[derive(Clone, FromRow, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Group {
    pub id: GroupId,
    #[serde(default)]
    pub key: Option<String>,
    /// The creator.
    #[sqlx(rename = "owner_id")]
    pub owner: UserId,
    pub name: String,
    pub description: String,
    pub created_at: DateTime<Utc>,
    /// When name or description were changed last.
    #[serde(default)]
    pub edited_at: Option<DateTime<Utc>>,
}

/// Groups that do not exist are missing.
pub async fn groups(db: &Db, ids: &[GroupId]) -> StoreResult<Vec<Group>> {
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    let query = sqlx::query_as(
        "SELECT id, key, owner_id, name, description, created_at, edited_at FROM app_group
         WHERE id = ANY($1) AND removed_at IS NULL",
    )
    .bind(ids);
    db.run(query.fetch_all(&db.pool())).await
}

/// The order of a list of groups.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum GroupOrder {
    /// By their members, the most first.
    Members,
    /// By age, the youngest first.
    Newest,
}

/// A page of all groups, each with its place.
pub async fn group_list(
    db: &Db,
    order: GroupOrder,
    page: &PageRequest<Ranked>,
) -> StoreResult<Slice<Ranked>> {
    let after = page.after.unwrap_or(Ranked::LAST);
    let text = match order {
        GroupOrder::Members => {
            "SELECT c.members, c.id FROM group_counts AS c
             JOIN app_group AS g ON g.id = c.id AND g.removed_at IS NULL
             WHERE (c.members, c.id) < ($1, $2) ORDER BY c.members DESC, c.id DESC LIMIT $3"
        }
        GroupOrder::Newest => {
            "SELECT (extract(epoch FROM created_at) * 1000000)::bigint, id FROM app_group
             WHERE (created_at, id) < ($1, $2) AND removed_at IS NULL
             ORDER BY created_at DESC, id DESC LIMIT $3"
        }
    };
    let query = sqlx::query_as(text);
    let query = match order {
        GroupOrder::Members => query.bind(after.score),
        GroupOrder::Newest => query.bind(lists::time(after.score)),
    };
    let query = query.bind(after.id.get()).bind(page.rows());
    let rows: Vec<(i64, Id)> = db.run(query.fetch_all(&db.pool())).await?;
    Ok(page.slice(rows.into_iter().map(|(score, id)| Ranked { score, id }).collect()))
}

/// Locks a group and returns its owner; `None` if it does not exist.
pub async fn lock_group(tx: &mut Tx, group: GroupId) -> StoreResult<Option<UserId>> {
    let query = sqlx::query_scalar(
        "SELECT owner_id FROM app_group WHERE id = $1 AND removed_at IS NULL FOR NO KEY UPDATE",
    )
    .bind(group.get());
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}

/// Changes the texts that are given. Returns whether any became another.
pub async fn update_group(
    tx: &mut Tx,
    group: GroupId,
    name: Option<&str>,
    description: Option<&str>,
) -> StoreResult<bool> {
    let query = sqlx::query(
        "UPDATE app_group
         SET name = coalesce($2, name), description = coalesce($3, description), edited_at = now()
         WHERE id = $1 AND (name, description) <> (coalesce($2, name), coalesce($3, description))",
    )
    .bind(group.get())
    .bind(name)
    .bind(description);
    Ok(tx.db.run(query.execute(&mut *tx.inner)).await?.rows_affected() > 0)
}

/// Adds groups. Left out are those whose owner was erased, or whose key is taken.
pub async fn add_groups(tx: &mut Tx, groups: &[GroupRow<'_>]) -> StoreResult<Vec<(GroupId, Option<String>)>> {
    if groups.is_empty() {
        return Ok(Vec::new());
    }
    let query = sqlx::query_as(
        "INSERT INTO app_group (owner_id, name, description, key, created_at)
         SELECT u.id, new.name, new.description, new.key, coalesce(new.created_at, now())
         FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::timestamptz[])
             WITH ORDINALITY AS new (owner_id, name, description, key, created_at, place)
         JOIN app_user AS u ON u.id = new.owner_id AND u.removed_at IS NULL
         ORDER BY new.place
         ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING RETURNING id, key",
    )
    .bind(groups.iter().map(|group| group.owner.get()).collect::<Vec<_>>())
    .bind(groups.iter().map(|group| group.name).collect::<Vec<_>>())
    .bind(groups.iter().map(|group| group.description).collect::<Vec<_>>())
    .bind(groups.iter().map(|group| group.key).collect::<Vec<_>>())
    .bind(groups.iter().map(|group| group.created_at).collect::<Vec<_>>());
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// The groups that exist and are not removed.
pub async fn present_groups(tx: &mut Tx, groups: &[GroupId]) -> StoreResult<BTreeSet<GroupId>> {
    let query = sqlx::query_scalar("SELECT id FROM app_group WHERE id = ANY($1) AND removed_at IS NULL")
        .bind(groups.iter().map(|group| group.get()).collect::<Vec<_>>());
    Ok(tx.db.run(query.fetch_all(&mut *tx.inner)).await?.into_iter().collect())
}

/// Locks the groups with these keys, also removed ones, and reads what is written in them.
pub async fn lock_groups_by_keys(tx: &mut Tx, keys: &[&str]) -> StoreResult<Vec<KeyedGroup>> {
    let query = sqlx::query_as(
        "SELECT id, key, owner_id, name, description, removed_at IS NOT NULL AS is_removed
         FROM app_group WHERE key = ANY($1) ORDER BY id FOR NO KEY UPDATE",
    )
    .bind(keys);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Changes names and descriptions. Lock the groups first.
pub async fn change_group_texts(tx: &mut Tx, texts: &[(GroupId, &str, &str)]) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE app_group AS g SET name = new.name, description = new.description, edited_at = now()
         FROM unnest($1::bigint[], $2::text[], $3::text[]) AS new (id, name, description) WHERE g.id = new.id",
    )
    .bind(texts.iter().map(|(id, ..)| id.get()).collect::<Vec<_>>())
    .bind(texts.iter().map(|(_, name, _)| *name).collect::<Vec<_>>())
    .bind(texts.iter().map(|(.., description)| *description).collect::<Vec<_>>());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// A group to add.
#[derive(Clone, Copy, Debug)]
pub struct GroupRow<'a> {
    pub owner: UserId,
    /// The app's own id of it.
    pub key: Option<&'a str>,
    pub name: &'a str,
    pub description: &'a str,
    /// `None`: now.
    pub created_at: Option<DateTime<Utc>>,
}

/// A group with a key, and what is written in it.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct KeyedGroup {
    pub id: GroupId,
    pub key: String,
    #[sqlx(rename = "owner_id")]
    pub owner: UserId,
    pub name: String,
    pub description: String,
    pub is_removed: bool,
}
