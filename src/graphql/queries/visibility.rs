//! Whether a user is hidden.

use futures_util::FutureExt;

use crate::graphql::{
    definition::{
        types::{Call, ObjectType, Resolve},
        values::Output,
    },
    errors::ApiResult,
    objects,
};

pub fn visibility(query: ObjectType) -> ObjectType {
    query.field(
        "userVisibility(userId: ID!): UserVisibility",
        "Whether a user is hidden, and how far the recount is. For moderators.",
        Resolve::Call(|call| user_visibility(call).boxed()),
    )
}

async fn user_visibility(call: Call<'_>) -> ApiResult<Output> {
    let visibility = call.scope.plaudit().visibility(call.arguments.id("userId")?).await?;
    Ok(objects::visibility::visibility(&visibility).into())
}
