//! Columns of PostgreSQL that are ids, offsets and kinds, for `sqlx::FromRow` and tuples.

use sqlx::{FromRow, Row, error::BoxDynError, postgres::PgRow};

use crate::{
    Entity, EntityKind,
    primitives::{CommentId, GroupId, Id, NoteId, Offset, ShardId, UserId},
};

/// Reads a column as one type and converts it to another.
#[macro_export]
macro_rules! stored_as {
    ($($value:ty as $raw:ty => $convert:expr;)+) => {$(
        impl sqlx::Type<sqlx::Postgres> for $value {
            fn type_info() -> sqlx::postgres::PgTypeInfo {
                <$raw as sqlx::Type<sqlx::Postgres>>::type_info()
            }

            fn compatible(column: &sqlx::postgres::PgTypeInfo) -> bool {
                <$raw as sqlx::Type<sqlx::Postgres>>::compatible(column)
            }
        }

        impl<'r> sqlx::Decode<'r, sqlx::Postgres> for $value {
            fn decode(column: sqlx::postgres::PgValueRef<'r>) -> Result<Self, sqlx::error::BoxDynError> {
                let raw = <$raw as sqlx::Decode<'r, sqlx::Postgres>>::decode(column)?;
                ($convert)(raw)
            }
        }
    )+};
}

stored_as! {
    Id as i64 => id;
    UserId as i64 => |raw| id(raw).map(UserId);
    NoteId as i64 => |raw| id(raw).map(NoteId);
    CommentId as i64 => |raw| id(raw).map(CommentId);
    GroupId as i64 => |raw| id(raw).map(GroupId);
    ShardId as i16 => |raw| Ok(ShardId::first(raw as u16));
    Entity as String => |name: String| Ok(name.parse()?);
    EntityKind as String => entity_kind;
}

fn id(raw: i64) -> Result<Id, BoxDynError> {
    Id::try_from(raw).map_err(|error| format!("{raw}: {error}").into())
}

fn entity_kind(name: String) -> Result<EntityKind, BoxDynError> {
    let kind = EntityKind::ALL.iter().copied().find(|kind| kind.name() == name);
    kind.ok_or_else(|| format!("unknown kind of entity {name:?}").into())
}

/// From the columns `generation` and `number`.
impl FromRow<'_, PgRow> for Offset {
    fn from_row(row: &PgRow) -> sqlx::Result<Self> {
        let (generation, number): (i64, i64) = (row.try_get("generation")?, row.try_get("number")?);
        Ok(Self::new(generation as u64, number as u64))
    }
}
