//! Table `app_group`: reading and creating groups.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::FromRow;

use super::{Db, Tx};
use crate::{
    primitives::{GroupId, UserId},
    store::StoreResult,
};

#[derive(Clone, FromRow, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Group {
    pub id: GroupId,
    /// The creator.
    #[sqlx(rename = "owner_id")]
    pub owner: UserId,
    pub name: String,
    pub description: String,
    pub created_at: DateTime<Utc>,
}

impl Db {
    /// Groups that do not exist are missing.
    pub async fn groups(&self, ids: &[GroupId]) -> StoreResult<Vec<Group>> {
        let ids: Vec<i64> = ids.iter().map(|id| id.get()).collect();
        let query = sqlx::query_as(
            "SELECT id, owner_id, name, description, created_at FROM app_group
             WHERE id = ANY($1) AND removed_at IS NULL",
        )
        .bind(ids);
        self.run(query.fetch_all(&self.pool())).await
    }
}

impl Tx {
    pub async fn add_group(&mut self, owner: UserId, name: &str, description: &str) -> StoreResult<GroupId> {
        let query = sqlx::query_scalar(
            "INSERT INTO app_group (owner_id, name, description) VALUES ($1, $2, $3) RETURNING id",
        )
        .bind(owner.get())
        .bind(name)
        .bind(description);
        self.db.run(query.fetch_one(&mut *self.inner)).await
    }
}
