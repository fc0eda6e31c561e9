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
            "viewer: Viewer",
            "You: what only you see. Null without a token.",
            Resolve::Call(|call| ready(Ok(viewer(call))).boxed()),
        )
        .field(
            "user(\"Its id.\" id: ID!): User",
            "A user by its id. Null if there is none.",
            Resolve::Call(|call| ready(by_id::<UserId>(call)).boxed()),
        )
        .field(
            "userBySubject(\"The subject of the user's tokens.\" subject: String!): User",
            "The user whose tokens have this subject. Null if there is none.",
            Resolve::Call(|call| user_by_subject(call).boxed()),
        )
        .field(
            "note(\"Its id.\" id: ID!): Note",
            "A note by its id. Null if there is none.",
            Resolve::Call(|call| ready(by_id::<NoteId>(call)).boxed()),
        )
        .field(
            "group(\"Its id.\" id: ID!): Group",
            "A group by its id. Null if there is none.",
            Resolve::Call(|call| ready(by_id::<GroupId>(call)).boxed()),
        )
        .field(
            "node(\"Its id.\" id: ID!): Node",
            "Any object by its id. Null if there is none.",
            Resolve::Call(|call| ready(node(call)).boxed()),
        )
        .field(
            "nodes(\"Their ids.\" ids: [ID!]!): [Node]!",
            "Objects by their ids, in the order of the ids: at most 100. Null for an object that does not exist.",
            Resolve::Call(|call| ready(nodes(call)).boxed()),
        )
}

fn viewer(call: Call<'_>) -> Output {
    if call.scope.viewer().is_signed_in() { Object::Root.into() } else { Output::NULL }
}

async fn user_by_subject(call: Call<'_>) -> ApiResult<Output> {
    let subject = call.arguments.text("subject").unwrap_or_default();
    let subject = Subject::try_from(subject.into_owned())
        .map_err(|why| ApiError::bad_input("subject", format!("subject: {why}")))?;
    let user = call.scope.plaudit().find_user(subject.as_str()).await?;
    Ok(Output::optional(user.map(Object::sought)))
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
