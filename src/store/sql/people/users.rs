//! Table `app_user`: reading and creating users, and whether they are hidden.

use std::{collections::BTreeSet, fmt, str::FromStr};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use crate::{
    StoreResult,
    sql::{Db, Tx},
};
use plaudit_catalogue::primitives::{Id, PageRequest, Slice, UserId};

#[derive(Clone, FromRow, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct User {
    pub id: UserId,
    #[serde(default)]
    pub subject: Option<String>,
    pub name: String,
    #[serde(default)]
    pub avatar_url: Option<String>,
    /// Only a token that was issued later changes name and picture; `None`: no token does, because the user or a
    /// service has set them.
    #[serde(default)]
    pub profile_as_of: Option<DateTime<Utc>>,
    #[serde(default)]
    pub is_hidden: bool,
    /// Actions of the user are refused until then. May be in the past.
    #[serde(default)]
    pub suspended_until: Option<DateTime<Utc>>,
    #[serde(default)]
    pub suspension_reason: Option<String>,
    pub created_at: DateTime<Utc>,
}

/// A user to add.
#[derive(Clone, Copy, Debug)]
pub struct UserRow<'a> {
    pub subject: &'a str,
    pub name: Option<&'a str>,
    pub avatar_url: Option<&'a str>,
    /// `None`: now.
    pub created_at: Option<DateTime<Utc>>,
}

/// The profile of a user who exists.
#[derive(Clone, FromRow, PartialEq, Eq, Debug)]
pub struct KnownProfile {
    pub id: UserId,
    pub subject: String,
    pub name: String,
    pub avatar_url: Option<String>,
    /// A token does not change it any more.
    pub is_settled: bool,
}

/// Columns of [`User`]. No infinite time, which is none of [`DateTime`].
macro_rules! user_columns {
    () => {
        "id, subject, name, avatar_url, hidden_at IS NOT NULL AS is_hidden, suspended_until, suspension_reason, created_at,
         CASE WHEN profile_as_of < 'infinity' THEN greatest(profile_as_of, 'epoch') END AS profile_as_of"
    };
}

/// Position in a list of users by name: the name in small letters, then the id.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ByName {
    pub id: Id,
    pub name: String,
}

impl fmt::Display for ByName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.id, self.name)
    }
}

/// Not a position that [`ByName`] wrote.
#[derive(Debug, thiserror::Error)]
#[error("not a position in a list by name")]
pub struct ParseByNameError;

impl FromStr for ByName {
    type Err = ParseByNameError;

    fn from_str(text: &str) -> Result<Self, ParseByNameError> {
        let (id, name) = text.split_once(' ').ok_or(ParseByNameError)?;
        Ok(Self { id: id.parse().map_err(|_| ParseByNameError)?, name: name.to_owned() })
    }
}

/// A page of users whose name begins with the prefix, whatever the case, by name. Without hidden users.
pub async fn users_by_prefix(
    db: &Db,
    prefix: &str,
    page: &PageRequest<ByName>,
) -> StoreResult<Slice<ByName>> {
    let after = page.after.as_ref();
    // U+10FFFF is behind every other character.
    let query = sqlx::query_as(
        "SELECT id, lower(name) FROM app_user
         WHERE lower(name) COLLATE \"C\" >= lower($1) AND lower(name) COLLATE \"C\" < lower($1) || chr(1114111)
           AND (lower(name) COLLATE \"C\", id) > ($2, $3) AND removed_at IS NULL AND hidden_at IS NULL
         ORDER BY lower(name) COLLATE \"C\", id LIMIT $4",
    )
    .bind(prefix)
    .bind(after.map_or("", |after| after.name.as_str()))
    .bind(after.map_or(0, |after| after.id.get()))
    .bind(page.rows());
    let rows: Vec<(Id, String)> = db.run(query.fetch_all(&db.pool())).await?;
    Ok(page.slice(rows.into_iter().map(|(id, name)| ByName { id, name }).collect()))
}

/// Users that do not exist are missing.
pub async fn users(db: &Db, ids: &[UserId]) -> StoreResult<Vec<User>> {
    let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
    let query = sqlx::query_as(concat!(
        "SELECT ",
        user_columns!(),
        " FROM app_user WHERE id = ANY($1) AND removed_at IS NULL"
    ))
    .bind(ids);
    db.run(query.fetch_all(&db.pool())).await
}

/// Whether a user is hidden; `None` if the user does not exist.
pub async fn is_hidden(db: &Db, user: UserId) -> StoreResult<Option<bool>> {
    let query =
        sqlx::query_scalar("SELECT hidden_at IS NOT NULL FROM app_user WHERE id = $1 AND removed_at IS NULL")
            .bind(user.get());
    db.run(query.fetch_optional(&db.pool())).await
}

pub async fn user_by_subject(db: &Db, subject: &str) -> StoreResult<Option<UserId>> {
    let query =
        sqlx::query_scalar("SELECT id FROM app_user WHERE subject = $1 AND removed_at IS NULL").bind(subject);
    db.run(query.fetch_optional(&db.pool())).await
}

/// Subjects without a user are missing.
pub async fn users_by_subjects(db: &Db, subjects: &[String]) -> StoreResult<Vec<(String, UserId)>> {
    let query =
        sqlx::query_as("SELECT subject, id FROM app_user WHERE subject = ANY($1) AND removed_at IS NULL")
            .bind(subjects);
    db.run(query.fetch_all(&db.pool())).await
}

/// Returns the user of this subject, or creates it; one without a name is called `User` and its id.
/// Concurrent calls return the same user. `as_of`: the `iat` of the token that the profile is from.
pub async fn ensure_user(
    db: &Db,
    subject: &str,
    name: Option<&str>,
    avatar_url: Option<&str>,
    as_of: Option<DateTime<Utc>>,
) -> StoreResult<User> {
    let query = sqlx::query_as(concat!(
        "INSERT INTO app_user (id, subject, name, avatar_url, profile_as_of) OVERRIDING SYSTEM VALUE
         SELECT id, $1, coalesce($2, 'User ' || id), $3, coalesce($4, '-infinity'::timestamptz)
         FROM (SELECT nextval(pg_get_serial_sequence('app_user', 'id')) AS id
               FROM (SELECT begin_timeline() OFFSET 0) AS timeline) AS next
         ON CONFLICT ON CONSTRAINT app_user_subject_unique DO UPDATE SET subject = excluded.subject
         RETURNING ",
        user_columns!()
    ))
    .bind(subject)
    .bind(name)
    .bind(avatar_url)
    .bind(as_of);
    db.run(query.fetch_one(&db.pool())).await
}

/// Sets the parts of a profile that are given; `avatar_url`: an address, or none. From now on no token changes the
/// profile. Returns whether anything of that is new.
pub async fn update_profile(
    tx: &mut Tx,
    user: UserId,
    name: Option<&str>,
    avatar_url: Option<Option<&str>>,
) -> StoreResult<bool> {
    let query = sqlx::query(
        "UPDATE app_user
         SET name = coalesce($2, name), avatar_url = CASE WHEN $3 THEN $4 ELSE avatar_url END,
             profile_as_of = 'infinity'
         WHERE id = $1 AND removed_at IS NULL
           AND (name <> coalesce($2, name) OR $3 AND avatar_url IS DISTINCT FROM $4
                OR profile_as_of < 'infinity')",
    )
    .bind(user.get())
    .bind(name)
    .bind(avatar_url.is_some())
    .bind(avatar_url.flatten());
    Ok(tx.db.run(query.execute(&mut *tx.inner)).await?.rows_affected() > 0)
}

/// Adds users; one without a name is called `User` and its id. Those whose subject has a user are left out.
pub async fn add_users(tx: &mut Tx, users: &[UserRow<'_>]) -> StoreResult<Vec<(String, UserId)>> {
    if users.is_empty() {
        return Ok(Vec::new());
    }
    let query = sqlx::query_as(
        "INSERT INTO app_user (id, subject, name, avatar_url, created_at, profile_as_of) OVERRIDING SYSTEM VALUE
         SELECT id, subject, coalesce(name, 'User ' || id), avatar_url, coalesce(created_at, now()),
                CASE WHEN name IS NULL AND avatar_url IS NULL THEN '-infinity' ELSE 'infinity' END::timestamptz
         FROM (SELECT nextval(sequence.ids) AS id, new.*
               FROM (SELECT pg_get_serial_sequence('app_user', 'id')::regclass AS ids OFFSET 0) AS sequence,
                    unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
                   WITH ORDINALITY AS new (subject, name, avatar_url, created_at, place)
               ORDER BY place) AS next
         ON CONFLICT ON CONSTRAINT app_user_subject_unique DO NOTHING RETURNING subject, id",
    )
    .bind(users.iter().map(|user| user.subject).collect::<Vec<_>>())
    .bind(users.iter().map(|user| user.name).collect::<Vec<_>>())
    .bind(users.iter().map(|user| user.avatar_url).collect::<Vec<_>>())
    .bind(users.iter().map(|user| user.created_at).collect::<Vec<_>>());
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Locks the users of these subjects, and reads their profiles.
pub async fn lock_users_by_subjects(tx: &mut Tx, subjects: &[&str]) -> StoreResult<Vec<KnownProfile>> {
    let query = sqlx::query_as(
        "SELECT id, subject, name, avatar_url, profile_as_of = 'infinity' AS is_settled FROM app_user
         WHERE subject = ANY($1) AND removed_at IS NULL ORDER BY id FOR NO KEY UPDATE",
    )
    .bind(subjects);
    tx.db.run(query.fetch_all(&mut *tx.inner)).await
}

/// Sets names and avatars, which tokens then do not change any more. Lock the users first.
pub async fn set_profiles(tx: &mut Tx, profiles: &[(UserId, &str, Option<&str>)]) -> StoreResult<()> {
    let query = sqlx::query(
        "UPDATE app_user AS u SET name = new.name, avatar_url = new.avatar_url, profile_as_of = 'infinity'
         FROM unnest($1::bigint[], $2::text[], $3::text[]) AS new (id, name, avatar_url) WHERE u.id = new.id",
    )
    .bind(profiles.iter().map(|(user, ..)| user.get()).collect::<Vec<_>>())
    .bind(profiles.iter().map(|(_, name, _)| *name).collect::<Vec<_>>())
    .bind(profiles.iter().map(|(.., avatar)| *avatar).collect::<Vec<_>>());
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

/// The users who exist.
pub async fn present_users(tx: &mut Tx, users: &[UserId]) -> StoreResult<BTreeSet<UserId>> {
    let query = sqlx::query_scalar("SELECT id FROM app_user WHERE id = ANY($1) AND removed_at IS NULL")
        .bind(users.iter().map(|user| user.get()).collect::<Vec<_>>());
    Ok(tx.db.run(query.fetch_all(&mut *tx.inner)).await?.into_iter().collect())
}

/// Changes the parts that a token gives, if the present ones are of a time before `as_of`. Returns whether it did.
pub async fn take_profile_of_token(
    tx: &mut Tx,
    user: UserId,
    name: Option<&str>,
    avatar_url: Option<&str>,
    as_of: DateTime<Utc>,
) -> StoreResult<bool> {
    let query = sqlx::query(
        "UPDATE app_user
         SET name = coalesce($2, name), avatar_url = coalesce($3, avatar_url), profile_as_of = $4
         WHERE id = $1 AND removed_at IS NULL AND profile_as_of < $4
           AND (name <> coalesce($2, name) OR avatar_url IS DISTINCT FROM coalesce($3, avatar_url))",
    )
    .bind(user.get())
    .bind(name)
    .bind(avatar_url)
    .bind(as_of);
    Ok(tx.db.run(query.execute(&mut *tx.inner)).await?.rows_affected() > 0)
}

/// Locks a user and returns whether it is hidden; `None` if the user does not exist.
pub async fn lock_user(tx: &mut Tx, user: UserId) -> StoreResult<Option<bool>> {
    let query = sqlx::query_scalar(
        "SELECT hidden_at IS NOT NULL FROM app_user WHERE id = $1 AND removed_at IS NULL FOR NO KEY UPDATE",
    )
    .bind(user.get());
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}

/// Locks a user and returns until when and why they are suspended; `None` if the user does not exist.
pub async fn lock_suspension(
    tx: &mut Tx,
    user: UserId,
) -> StoreResult<Option<(Option<DateTime<Utc>>, Option<String>)>> {
    let query = sqlx::query_as(
        "SELECT suspended_until, suspension_reason FROM app_user
         WHERE id = $1 AND removed_at IS NULL FOR NO KEY UPDATE",
    )
    .bind(user.get());
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}

/// `until`: null lifts the suspension.
pub async fn set_suspension(
    tx: &mut Tx,
    user: UserId,
    until: Option<DateTime<Utc>>,
    reason: Option<&str>,
) -> StoreResult<()> {
    let query = sqlx::query("UPDATE app_user SET suspended_until = $2, suspension_reason = $3 WHERE id = $1")
        .bind(user.get())
        .bind(until)
        .bind(reason);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}

pub async fn set_hidden(tx: &mut Tx, user: UserId, hidden: bool) -> StoreResult<()> {
    let query = sqlx::query("UPDATE app_user SET hidden_at = CASE WHEN $2 THEN now() END WHERE id = $1")
        .bind(user.get())
        .bind(hidden);
    tx.db.run(query.execute(&mut *tx.inner)).await.map(drop)
}
