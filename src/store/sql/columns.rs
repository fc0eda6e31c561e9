//! Conversions between columns and ids or offsets.

use plaudit_catalogue::primitives::{Id, Offset, ShardId, UserId};

/// Users by their numbers.
pub(super) fn users_of(raw: Vec<i64>) -> Vec<UserId> {
    raw.into_iter().filter_map(|id| Some(UserId(Id::try_from(id).ok()?))).collect()
}

pub(super) const fn offset(generation: i64, number: i64) -> Offset {
    Offset::new(generation as u64, number as u64)
}

/// Shards as a parameter of a statement.
pub fn numbers_of(shards: &[ShardId]) -> Vec<i16> {
    shards.iter().map(|shard| shard.0 as i16).collect()
}
