//! The explanation of an object's counts, for moderators: the same as the command `plaudit explain` prints.

use futures_util::FutureExt;

use crate::{
    definition::{
        list_size::ListSize,
        resolve::{Call, Resolve},
        types::ObjectType,
        values::{Output, Scalar},
    },
    errors::ApiResult,
    request::{
        access::Who,
        ids::{known, parse_any},
    },
};
use plaudit_domain::explain;

pub fn explanations(query: ObjectType) -> ObjectType {
    query.field(
        "explain(\"Of a user, note, comment or group.\" id: ID!): JSON",
        "Where an object's counts come from, and whether PostgreSQL and Redis agree: `schema/explanation.json` describes \
         the document. Null if there never was one. It counts rows and reads the logs, so it costs as much as many \
         other queries. For moderators.",
        Resolve::Call(|call| explain(call).boxed()),
    )
    .who(Who::Moderator)
    // It is read by statements of its own.
    .sized("explain", ListSize::Computed(|_| 1))
}

async fn explain(call: Call<'_>) -> ApiResult<Output> {
    let Some(entity) = known(parse_any("id", &call.arguments.text("id").unwrap_or_default()))? else {
        return Ok(Output::NULL);
    };
    let explained = explain::explain(call.scope.plaudit(), entity).await?;
    let document = explained.and_then(|of| serde_json::to_string(&of).ok());
    Ok(document.map(|text| Output::Scalar(Scalar::Json(text.into()))).into())
}
