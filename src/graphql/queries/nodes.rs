//! Looking up objects of any kind by their global ids.

use async_graphql::{Context, ID, Object};

use crate::graphql::{
    errors::{ApiError, ApiResult},
    objects::nodes::{Node, find_all, find_one},
    reading::{guards::ByTable, prefetch::Selection, scope::Scope},
    request::ids::parse_any,
};

/// Most ids of one query.
const MAX_IDS: usize = 100;

#[derive(Default)]
pub struct NodeQueries;

#[Object(guard = "ByTable(\"Query\")")]
impl NodeQueries {
    /// Any object by its id. Null if there is none.
    async fn node(&self, ctx: &Context<'_>, id: ID) -> ApiResult<Option<Node>> {
        find_one(parse_any("id", &id)?, &Selection::of(ctx), Scope::of(ctx)).await
    }

    /// Objects by their ids, in the order of the ids: at most 100. Null for an object that does not exist.
    async fn nodes(&self, ctx: &Context<'_>, ids: Vec<ID>) -> ApiResult<Vec<Option<Node>>> {
        if ids.len() > MAX_IDS {
            let message = format!("ids: at most {MAX_IDS} ids, not {}", ids.len());
            return Err(ApiError::bad_input("ids", message));
        }
        let entities = ids.iter().map(|id| parse_any("ids", id)).collect::<ApiResult<Vec<_>>>()?;
        find_all(&entities, &Selection::of(ctx), Scope::of(ctx)).await
    }
}
