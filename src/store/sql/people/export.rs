//! Export: all that is held of one user, as JSON records, section by section, each along an index.

use std::{fmt, str::FromStr};

use crate::{
    StoreResult,
    sql::{Db, from_catalogue, people::hiding::behind},
};
use plaudit_catalogue::{
    Rows,
    primitives::{PageRequest, Slice, UserId},
};

/// A record of an export, with its position.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExportedRecord {
    pub position: ExportPosition,
    /// What it is: `user`, `note`, `comment` and so on.
    pub kind: &'static str,
    /// A JSON object on one line.
    pub json: String,
}

/// Position of a record in an export: the number of its section, and its key within it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ExportPosition {
    section: usize,
    id: i64,
}

impl fmt::Display for ExportPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.section, self.id)
    }
}

impl FromStr for ExportPosition {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (section, id) = text.split_once('.').ok_or(())?;
        Ok(Self { section: section.parse().map_err(drop)?, id: id.parse().map_err(drop)? })
    }
}

/// The sections: rows of tables that meet a condition.
fn sections() -> impl Iterator<Item = (Rows, &'static str)> {
    let exported = Rows::all().filter(|rows| !rows.record.is_empty());
    exported.flat_map(|rows| rows.sections.iter().map(move |condition| (rows, *condition)))
}

/// Edges, on and off, with every row of `activity`. The times of an edge bound the steps, so that a target with many
/// is not read whole.
fn fields_of(rows: &Rows) -> String {
    let Some(kind) = rows.edge else { return rows.fields.to_owned() };
    let (number, target) = (kind.number(), kind.target().name());
    format!(
        "'target', '{target}_' || r.target_id, 'isOn', r.is_on, 'createdAt', r.created_at, 'changedAt', r.changed_at,
         'steps', (SELECT jsonb_agg(jsonb_build_object('at', a.at, 'isOn', a.is_on) ORDER BY a.at)
           FROM activity AS a
                   WHERE a.kind = {number} AND a.target_id = r.target_id AND a.actor_id = $1
                     AND a.at BETWEEN r.created_at AND r.changed_at)"
    )
}

/// The next records of a user.
pub async fn exported_records(
    db: &Db,
    user: UserId,
    page: &PageRequest<ExportPosition>,
) -> StoreResult<Slice<ExportedRecord>> {
    let most = page.rows();
    let from = page.after.unwrap_or_default();
    let mut records = Vec::new();
    for (number, (rows, condition)) in sections().enumerate().skip(from.section) {
        let after = if number == from.section { from.id } else { 0 };
        let wanted = most - records.len() as i64;
        if wanted <= 0 {
            break;
        }
        let Rows { table, user: of, key, record: kind, join, .. } = rows;
        let (behind, order) = behind(&rows);
        let fields = fields_of(&rows);
        let text = format!(
            "SELECT r.{key}, jsonb_strip_nulls(jsonb_build_object('type', '{kind}', {fields}))::text
             FROM {table} AS r {join} WHERE r.{of} = $1 AND {condition} AND {behind} ORDER BY {order} LIMIT $3"
        );
        let query = sqlx::query_as(from_catalogue(text)).bind(user.get()).bind(after).bind(wanted);
        let found: Vec<(i64, String)> = db.run(query.fetch_all(&db.pool())).await?;
        records.extend(found.into_iter().map(|(id, json)| {
            let position = ExportPosition { section: number, id };
            ExportedRecord { position, kind, json }
        }));
    }
    Ok(page.slice(records))
}
