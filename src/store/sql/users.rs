//! Table `app_user`: reading and creating users, and whether they are hidden.

use std::{fmt, str::FromStr};

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::{Db, Tx};
use crate::{
    primitives::{Id, PageRequest, Slice, UserId},
    store::StoreResult,
};

#[derive(Clone, FromRow, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct User {
    pub id: UserId,
    pub name: String,
    #[serde(default)]
    pub avatar_url: Option<String>,
    #[serde(default)]
    pub is_hidden: bool,
    /// Actions of the user are refused until then. May be in the past.
    #[serde(default)]
    pub suspended_until: Option<DateTime<Utc>>,
    #[serde(default)]
    pub suspension_reason: Option<String>,
    pub created_at: DateTime<Utc>,
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

impl Db {
    /// A page of users whose name begins with the prefix, whatever the case, by name. Without hidden users.
    pub async fn users_by_prefix(
        &self,
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
        let rows: Vec<(Id, String)> = self.run(query.fetch_all(&self.pool())).await?;
        Ok(page.slice(rows.into_iter().map(|(id, name)| ByName { id, name }).collect()))
    }

    /// Users that do not exist are missing.
    pub async fn users(&self, ids: &[UserId]) -> StoreResult<Vec<User>> {
        let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
        let query = sqlx::query_as(
            "SELECT id, name, avatar_url, hidden_at IS NOT NULL AS is_hidden, suspended_until, suspension_reason, created_at
             FROM app_user
             WHERE id = ANY($1) AND removed_at IS NULL",
        )
        .bind(ids);
        self.run(query.fetch_all(&self.pool())).await
    }

    /// Whether a user is hidden; `None` if the user does not exist.
    pub async fn is_hidden(&self, user: UserId) -> StoreResult<Option<bool>> {
        let query = sqlx::query_scalar(
            "SELECT hidden_at IS NOT NULL FROM app_user WHERE id = $1 AND removed_at IS NULL",
        )
        .bind(user.get());
        self.run(query.fetch_optional(&self.pool())).await
    }

    pub async fn user_by_subject(&self, subject: &str) -> StoreResult<Option<UserId>> {
        let query = sqlx::query_scalar("SELECT id FROM app_user WHERE subject = $1 AND removed_at IS NULL")
            .bind(subject);
        self.run(query.fetch_optional(&self.pool())).await
    }

    /// `None` for an unknown user, and for one that was erased.
    pub async fn subject_of(&self, user: UserId) -> StoreResult<Option<String>> {
        let query = sqlx::query_scalar("SELECT subject FROM app_user WHERE id = $1 AND removed_at IS NULL")
            .bind(user.get());
        self.run(query.fetch_optional(&self.pool())).await
    }

    /// Subjects without a user are missing.
    pub async fn users_by_subjects(&self, subjects: &[String]) -> StoreResult<Vec<(String, UserId)>> {
        let query =
            sqlx::query_as("SELECT subject, id FROM app_user WHERE subject = ANY($1) AND removed_at IS NULL")
                .bind(subjects);
        self.run(query.fetch_all(&self.pool())).await
    }

    /// Returns the user of this subject, or creates it; one without a name is called `User` and its id. Concurrent calls
    /// return the same user. Returns also until when the user is suspended.
    pub async fn ensure_user(
        &self,
        subject: &str,
        name: Option<&str>,
    ) -> StoreResult<(UserId, Option<DateTime<Utc>>)> {
        let query = sqlx::query_as(
            "INSERT INTO app_user (id, subject, name) OVERRIDING SYSTEM VALUE
             SELECT id, $1, coalesce($2, 'User ' || id)
             FROM (SELECT nextval(pg_get_serial_sequence('app_user', 'id')) AS id) AS next
             ON CONFLICT ON CONSTRAINT app_user_subject_unique DO UPDATE SET subject = excluded.subject
             RETURNING id, suspended_until",
        )
        .bind(subject)
        .bind(name);
        self.run(query.fetch_one(&self.pool())).await
    }
}

impl Tx {
    /// Changes the parts of a profile that are given; `avatar_url`: an address, or none. Returns whether any became
    /// another.
    pub async fn update_profile(
        &mut self,
        user: UserId,
        name: Option<&str>,
        avatar_url: Option<Option<&str>>,
    ) -> StoreResult<bool> {
        let query = sqlx::query(
            "UPDATE app_user
             SET name = coalesce($2, name), avatar_url = CASE WHEN $3 THEN $4 ELSE avatar_url END
             WHERE id = $1 AND removed_at IS NULL
               AND (name <> coalesce($2, name) OR $3 AND avatar_url IS DISTINCT FROM $4)",
        )
        .bind(user.get())
        .bind(name)
        .bind(avatar_url.is_some())
        .bind(avatar_url.flatten());
        Ok(self.db.run(query.execute(&mut *self.inner)).await?.rows_affected() > 0)
    }

    /// Locks a user and returns whether it is hidden; `None` if the user does not exist.
    pub async fn lock_user(&mut self, user: UserId) -> StoreResult<Option<bool>> {
        let query = sqlx::query_scalar(
            "SELECT hidden_at IS NOT NULL FROM app_user WHERE id = $1 AND removed_at IS NULL FOR NO KEY UPDATE",
        )
        .bind(user.get());
        self.db.run(query.fetch_optional(&mut *self.inner)).await
    }

    /// Locks a user and returns until when and why they are suspended; `None` if the user does not exist.
    pub async fn lock_suspension(
        &mut self,
        user: UserId,
    ) -> StoreResult<Option<(Option<DateTime<Utc>>, Option<String>)>> {
        let query = sqlx::query_as(
            "SELECT suspended_until, suspension_reason FROM app_user
             WHERE id = $1 AND removed_at IS NULL FOR NO KEY UPDATE",
        )
        .bind(user.get());
        self.db.run(query.fetch_optional(&mut *self.inner)).await
    }

    /// `until`: null lifts the suspension.
    pub async fn set_suspension(
        &mut self,
        user: UserId,
        until: Option<DateTime<Utc>>,
        reason: Option<&str>,
    ) -> StoreResult<()> {
        let query =
            sqlx::query("UPDATE app_user SET suspended_until = $2, suspension_reason = $3 WHERE id = $1")
                .bind(user.get())
                .bind(until)
                .bind(reason);
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }

    pub async fn set_hidden(&mut self, user: UserId, hidden: bool) -> StoreResult<()> {
        let query = sqlx::query("UPDATE app_user SET hidden_at = CASE WHEN $2 THEN now() END WHERE id = $1")
            .bind(user.get())
            .bind(hidden);
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }
}
