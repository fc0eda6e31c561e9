//! Whether a user is hidden.

use async_graphql::{Context, ID, Object};

use crate::graphql::{
    errors::ApiResult,
    objects::visibility::UserVisibility,
    reading::{guards::ByTable, scope::Scope},
    request::ids::parse_as,
};

#[derive(Default)]
pub struct VisibilityQueries;

#[Object(guard = "ByTable(\"Query\")")]
impl VisibilityQueries {
    /// Whether a user is hidden, and how far the recount is. For moderators.
    async fn user_visibility(&self, ctx: &Context<'_>, user_id: ID) -> ApiResult<Option<UserVisibility>> {
        let scope = Scope::of(ctx);
        let visibility = scope.plaudit().visibility(parse_as("userId", &user_id)?).await?;
        Ok(Some(UserVisibility { visibility, scope: scope.clone() }))
    }
}
