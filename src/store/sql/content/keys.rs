//! Columns `key`: the app's own ids of notes, comments and groups.

use crate::{
    StoreResult,
    sql::{Db, Tx, from_catalogue},
};
use plaudit_catalogue::{EntityKind, primitives::Id};

/// The table of things of this kind that have a key.
const fn table(kind: EntityKind) -> Option<&'static str> {
    match kind {
        EntityKind::Note => Some("note"),
        EntityKind::Comment => Some("comment_index"),
        EntityKind::Group => Some("app_group"),
        EntityKind::User | EntityKind::Inbox => None,
    }
}

/// Ids by keys, also of removed things: their keys stay taken. Unknown keys are missing.
pub async fn ids_by_keys(db: &Db, kind: EntityKind, keys: &[&str]) -> StoreResult<Vec<(String, Id)>> {
    let Some(table) = table(kind) else { return Ok(Vec::new()) };
    let text = format!("SELECT key, id FROM {table} WHERE key = ANY($1)");
    let query = sqlx::query_as(from_catalogue(text)).bind(keys);
    db.run(query.fetch_all(&db.pool())).await
}

/// The id of what has this key.
pub async fn id_by_key(tx: &mut Tx, kind: EntityKind, key: &str) -> StoreResult<Option<Id>> {
    let Some(table) = table(kind) else { return Ok(None) };
    let text = format!("SELECT id FROM {table} WHERE key = $1");
    let query = sqlx::query_scalar(from_catalogue(text)).bind(key);
    tx.db.run(query.fetch_optional(&mut *tx.inner)).await
}
