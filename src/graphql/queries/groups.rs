//! Looking up groups.

use async_graphql::{Context, ID, Object};

use crate::graphql::{
    errors::ApiResult,
    objects::groups::Group,
    reading::{guards::ByTable, prefetch::Selection, scope::Scope},
    request::ids::parse_as,
};

#[derive(Default)]
pub struct GroupQueries;

#[Object(guard = "ByTable(\"Query\")")]
impl GroupQueries {
    /// A group by its id. Null if there is none.
    async fn group(&self, ctx: &Context<'_>, id: ID) -> ApiResult<Option<Group>> {
        let scope = Scope::of(ctx);
        match scope.group(parse_as("id", &id)?).await? {
            Some(group) => Ok(Some(Group::read_ahead(&group, &Selection::of(ctx), scope).await)),
            None => Ok(None),
        }
    }
}
