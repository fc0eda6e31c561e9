//! Users.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{Row, postgres::PgRow};

use super::{Db, Tx};
use crate::{
    primitives::{Id, UserId},
    store::{StoreError, StoreResult},
};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct User {
    pub id: UserId,
    pub name: String,
    pub created_at: DateTime<Utc>,
}

impl Db {
    /// Users that do not exist are missing.
    pub async fn users(&self, ids: &[UserId]) -> StoreResult<Vec<User>> {
        let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
        let query = sqlx::query(
            "SELECT id, name, created_at FROM app_user WHERE id = ANY($1) AND removed_at IS NULL",
        )
        .bind(ids);
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        rows.iter()
            .map(|row| {
                Ok(User { id: UserId(id(row, 0)?), name: row.try_get(1)?, created_at: row.try_get(2)? })
            })
            .collect()
    }

    /// Whether a user is hidden; `None` when there is no such user.
    pub async fn is_hidden(&self, user: UserId) -> StoreResult<Option<bool>> {
        let query = sqlx::query_scalar(
            "SELECT hidden_at IS NOT NULL FROM app_user WHERE id = $1 AND removed_at IS NULL",
        )
        .bind(user.get());
        self.run(query.fetch_optional(&self.pool())).await
    }

    pub async fn user_by_subject(&self, subject: &str) -> StoreResult<Option<UserId>> {
        let query =
            sqlx::query("SELECT id FROM app_user WHERE subject = $1 AND removed_at IS NULL").bind(subject);
        let row = self.run(query.fetch_optional(&self.pool())).await?;
        row.map(|row| Ok(UserId(id(&row, 0)?))).transpose()
    }

    /// Returns the user of this subject; creates one if there is none. Two calls at once agree.
    pub async fn ensure_user(&self, subject: &str, name: &str) -> StoreResult<UserId> {
        let query = sqlx::query(
            "INSERT INTO app_user (subject, name) VALUES ($1, $2)
             ON CONFLICT ON CONSTRAINT app_user_subject_unique DO UPDATE SET subject = excluded.subject
             RETURNING id",
        )
        .bind(subject)
        .bind(name);
        let row = self.run(query.fetch_one(&self.pool())).await?;
        Ok(UserId(id(&row, 0)?))
    }
}

impl Tx {
    /// Locks a user and tells whether they are hidden; `None` when there is no such user.
    pub async fn lock_user(&mut self, user: UserId) -> StoreResult<Option<bool>> {
        let query = sqlx::query_scalar(
            "SELECT hidden_at IS NOT NULL FROM app_user WHERE id = $1 AND removed_at IS NULL FOR NO KEY UPDATE",
        )
        .bind(user.get());
        self.db.run(query.fetch_optional(&mut *self.inner)).await
    }

    pub async fn set_hidden(&mut self, user: UserId, hidden: bool) -> StoreResult<()> {
        let query = sqlx::query("UPDATE app_user SET hidden_at = CASE WHEN $2 THEN now() END WHERE id = $1")
            .bind(user.get())
            .bind(hidden);
        self.db.run(query.execute(&mut *self.inner)).await.map(drop)
    }
}

pub(super) fn id(row: &PgRow, column: usize) -> StoreResult<Id> {
    let raw: i64 = row.try_get(column)?;
    Id::try_from(raw).map_err(|error| StoreError::Unexpected(format!("{raw}: {error}")))
}
