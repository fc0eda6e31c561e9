//! Looking up users, notes, groups and objects of any kind.

use std::future::ready;

use futures_util::FutureExt;
use plaudit_token_auth::Subject;

use crate::{
    graphql::{
        definition::{
            types::{Call, ObjectType, Resolve},
            values::{Object, Output},
        },
        errors::{ApiError, ApiResult},
        request::ids::{TypedId, parse_any},
    },
    primitives::{GroupId, NoteId, UserId},
};

/// Most ids of one query.
const MAX_IDS: usize = 100;

pub fn lookups(query: ObjectType) -> ObjectType {
    query
        .field(
            "viewer: User",
            "You. Null without a token, and before your first action.",
            Resolve::Call(|call| viewer(call).boxed()),
        )
        .field(
            "user(\"The global id.\" id: ID, \"The subject of the user's tokens.\" subject: String): User",
            "A user by `id`, or by the `subject` of its tokens: give exactly one. Null if there is none.",
            Resolve::Call(|call| user(call).boxed()),
        )
        .field(
            "note(id: ID!): Note",
            "A note by its id. Null if there is none.",
            Resolve::Call(|call| ready(by_id::<NoteId>(call)).boxed()),
        )
        .field(
            "group(id: ID!): Group",
            "A group by its id. Null if there is none.",
            Resolve::Call(|call| ready(by_id::<GroupId>(call)).boxed()),
        )
        .field(
            "node(id: ID!): Node",
            "Any object by its id. Null if there is none.",
            Resolve::Call(|call| ready(node(call)).boxed()),
        )
        .field(
            "nodes(ids: [ID!]!): [Node]!",
            "Objects by their ids, in the order of the ids: at most 100. Null for an object that does not exist.",
            Resolve::Call(|call| ready(nodes(call)).boxed()),
        )
}

async fn viewer(call: Call<'_>) -> ApiResult<Output> {
    match call.scope.viewer().user(call.scope.plaudit()).await? {
        Some(user) => Ok(Object::sought(user).into()),
        None => Ok(Output::NULL),
    }
}

async fn user(call: Call<'_>) -> ApiResult<Output> {
    let user = match (call.arguments.optional_id::<UserId>("id"), call.arguments.text("subject")) {
        (Ok(Some(id)), None) => Some(id),
        (Err(error), None) => return Err(error),
        (Ok(None), Some(subject)) => user_of(&subject, call).await?,
        _ => return Err(ApiError::bad_input("id", "give either id or subject, and not both")),
    };
    match user {
        Some(user) => Ok(Object::sought(user).into()),
        None => Ok(Output::NULL),
    }
}

async fn user_of(subject: &str, call: Call<'_>) -> ApiResult<Option<UserId>> {
    let subject = Subject::try_from(subject.to_owned())
        .map_err(|why| ApiError::bad_input("subject", format!("subject: {why}")))?;
    Ok(call.scope.plaudit().find_user(subject.as_str()).await?)
}

fn by_id<T: TypedId>(call: Call<'_>) -> ApiResult<Output> {
    Ok(Object::sought(call.arguments.id::<T>("id")?).into())
}

fn node(call: Call<'_>) -> ApiResult<Output> {
    let id = call.arguments.text("id").unwrap_or_default();
    Ok(Object::sought(parse_any("id", &id)?).into())
}

fn nodes(call: Call<'_>) -> ApiResult<Output> {
    let ids = call.arguments.texts("ids");
    if ids.len() > MAX_IDS {
        let message = format!("ids: at most {MAX_IDS} ids, not {}", ids.len());
        return Err(ApiError::bad_input("ids", message));
    }
    let entities = ids.iter().map(|id| parse_any("ids", id)).collect::<ApiResult<Vec<_>>>()?;
    Ok(Output::list(entities.into_iter().map(Object::sought)))
}
