//! The schema of the tables: whether it exists, and whether the user may do in it what Plaudit does.

use sqlx::{AssertSqlSafe, ConnectOptions, PgConnection};

use super::{
    migration,
    server::{SqlServer, has_code, in_time},
};
use crate::{StoreError, StoreResult};
use plaudit_catalogue::primitives::SchemaName;

/// Error codes of a schema that another process created at the same time.
const CREATED_MEANWHILE: [&str; 2] = ["42P06", "23505"];

/// A schema that can be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SchemaState {
    /// It does not exist, and the user may create it.
    Missing,
    /// Tables may be created in it, and the tables of Plaudit that it has belong to the user.
    Usable,
}

impl SqlServer {
    /// Whether the schema can be used. Changes nothing.
    ///
    /// # Errors
    /// [`StoreError::Misconfigured`] says what to run.
    pub async fn schema_state(&self) -> StoreResult<SchemaState> {
        in_time(async {
            let mut connection = self.pipeline_options().connect().await?;
            let schema = &self.schema;
            let asked = "SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = $1),
                                has_database_privilege(current_database(), 'CREATE')";
            let (exists, may_create): (bool, bool) =
                sqlx::query_as(asked).bind(schema.as_str()).fetch_one(&mut connection).await?;
            match (exists, may_create) {
                (true, _) => check_rights(schema, &mut connection).await.map(|()| SchemaState::Usable),
                (false, true) => Ok(SchemaState::Missing),
                (false, false) => Err(StoreError::Misconfigured(format!(
                    "the schema {schema} does not exist, and may not be created: run `CREATE SCHEMA {schema} \
                     AUTHORIZATION` with the user of the URL, or name another schema by database_schema"
                ))),
            }
        })
        .await
    }

    /// Creates the schema if it does not exist.
    ///
    /// # Errors
    /// As [`Self::schema_state`].
    pub async fn ensure_schema(&self) -> StoreResult<()> {
        if self.schema_state().await? == SchemaState::Usable {
            return Ok(());
        }
        in_time(async {
            let mut connection = self.pipeline_options().connect().await?;
            let create = AssertSqlSafe(format!("CREATE SCHEMA {}", self.schema));
            match sqlx::query(create).execute(&mut connection).await {
                Err(error) if !has_code(&error, &CREATED_MEANWHILE) => Err(error.into()),
                _ => Ok(()),
            }
        })
        .await
    }
}

/// Partitions are created each day, and migrations change tables, so the user needs more than to write rows.
async fn check_rights(schema: &SchemaName, connection: &mut PgConnection) -> StoreResult<()> {
    let may_create =
        "SELECT has_schema_privilege($1, 'CREATE') AND has_schema_privilege($1, 'USAGE'), current_user::text";
    let (may_create, user): (bool, String) =
        sqlx::query_as(may_create).bind(schema.as_str()).fetch_one(&mut *connection).await?;
    if !may_create {
        return Err(StoreError::Misconfigured(format!(
            "{user} may not create tables in the schema {schema}: run `GRANT CREATE, USAGE ON SCHEMA {schema} TO \
             \"{user}\"`, or name another schema by database_schema"
        )));
    }
    let of_others = "SELECT c.relname::text, pg_get_userbyid(c.relowner)::text
                     FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
                     WHERE n.nspname = $1 AND c.relname = ANY($2) AND NOT pg_has_role(c.relowner, 'USAGE')
                     ORDER BY 1 LIMIT 1";
    let table: Option<(String, String)> = sqlx::query_as(of_others)
        .bind(schema.as_str())
        .bind(migration::tables())
        .fetch_optional(connection)
        .await?;
    match table {
        None => Ok(()),
        Some((table, owner)) => Err(StoreError::Misconfigured(format!(
            "the table {table} of the schema {schema} belongs to {owner}, and {user} must own the tables: run `REASSIGN \
             OWNED BY \"{owner}\" TO \"{user}\"`, or `GRANT \"{owner}\" TO \"{user}\"`"
        ))),
    }
}
