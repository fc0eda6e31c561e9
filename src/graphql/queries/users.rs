//! Looking up users.

use async_graphql::{Context, ID, Object};
use plaudit_token_auth::Subject;

use crate::{
    graphql::{
        errors::{ApiError, ApiResult},
        objects::users::User,
        reading::{guards::ByTable, prefetch::Selection, scope::Scope},
        request::ids::parse_as,
    },
    primitives::UserId,
};

#[derive(Default)]
pub struct UserQueries;

#[Object(guard = "ByTable(\"Query\")")]
impl UserQueries {
    /// You. Null without a token, and before your first action.
    async fn viewer(&self, ctx: &Context<'_>) -> ApiResult<Option<User>> {
        let scope = Scope::of(ctx);
        match scope.viewer().user(scope.plaudit()).await? {
            Some(user) => User::find(user, &Selection::of(ctx), scope).await,
            None => Ok(None),
        }
    }

    /// A user by `id`, or by the `subject` of its tokens: give exactly one. Null if there is none.
    async fn user(
        &self,
        ctx: &Context<'_>,
        #[graphql(desc = "The global id.")] id: Option<ID>,
        #[graphql(desc = "The subject of the user's tokens.")] subject: Option<String>,
    ) -> ApiResult<Option<User>> {
        let scope = Scope::of(ctx);
        let user = match (id, subject) {
            (Some(id), None) => Some(parse_as("id", &id)?),
            (None, Some(subject)) => user_of(subject, scope).await?,
            _ => return Err(ApiError::bad_input("id", "give either id or subject, and not both")),
        };
        match user {
            Some(user) => User::find(user, &Selection::of(ctx), scope).await,
            None => Ok(None),
        }
    }
}

async fn user_of(subject: String, scope: &Scope) -> ApiResult<Option<UserId>> {
    let subject = Subject::try_from(subject)
        .map_err(|why| ApiError::bad_input("subject", format!("subject: {why}")))?;
    Ok(scope.plaudit().find_user(subject.as_str()).await?)
}
