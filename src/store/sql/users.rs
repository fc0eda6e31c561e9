//! Users.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::{Row, postgres::PgRow};

use super::Db;
use crate::{
    primitives::{Id, UserId},
    store::{StoreError, StoreResult},
};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct UserRow {
    pub id: UserId,
    pub name: String,
    pub created_at: DateTime<Utc>,
}

impl Db {
    /// Users that do not exist are missing.
    pub async fn users(&self, ids: &[UserId]) -> StoreResult<Vec<UserRow>> {
        let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
        let query = sqlx::query(
            "SELECT id, name, created_at FROM app_user WHERE id = ANY($1) AND removed_at IS NULL",
        )
        .bind(ids);
        let rows = self.run(query.fetch_all(&self.pool())).await?;
        rows.iter()
            .map(|row| {
                Ok(UserRow { id: UserId(id(row, 0)?), name: row.try_get(1)?, created_at: row.try_get(2)? })
            })
            .collect()
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

pub(super) fn id(row: &PgRow, column: usize) -> StoreResult<Id> {
    let raw: i64 = row.try_get(column)?;
    Id::try_from(raw).map_err(|error| StoreError::Unexpected(format!("{raw}: {error}")))
}
