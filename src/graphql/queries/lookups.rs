//! Looking up users, notes, groups and objects of any kind.

use std::{borrow::Cow, collections::BTreeMap, future::ready};

use futures_util::FutureExt;
use plaudit_token_auth::Subject;

use crate::{
    definition::{
        resolve::{Call, Resolve},
        types::ObjectType,
        values::{Object, Output},
    },
    errors::{ApiError, ApiResult},
    objects::inbox_entries::{entry_named, own_entries},
    reading::scope::Scope,
    request::{
        access::Who,
        ids::{TypedId, known, parse_any},
    },
};
use plaudit_catalogue::{
    EntityKind,
    primitives::{GroupId, NoteId, UserId},
};
use plaudit_domain::{AppKey, EntryKey};

/// Most ids of one query.
const MAX_IDS: usize = 100;

pub fn lookups(query: ObjectType) -> ObjectType {
    query
        .field(
            "viewer: Viewer",
            "You: what only you see. Null without a token.",
            Resolve::Call(|call| ready(Ok(viewer(call))).boxed()),
        )
        .who(Who::Anyone)
        .field(
            "user(\"Its id.\" id: ID!): User",
            "A user by its id. Null if there is none.",
            Resolve::Call(|call| ready(by_id::<UserId>(call)).boxed()),
        )
        .who(Who::Anyone)
        .field(
            "userBySubject(\"The subject of the user's tokens.\" subject: String!): User",
            "The user whose tokens have this subject. Null if there is none.",
            Resolve::Call(|call| user_by_subject(call).boxed()),
        )
        .who(Who::Anyone)
        .field(
            "note(\"Its id.\" id: ID!): Note",
            "A note by its id. Null if there is none.",
            Resolve::Call(|call| ready(by_id::<NoteId>(call)).boxed()),
        )
        .who(Who::Anyone)
        .field(
            "group(\"Its id.\" id: ID!): Group",
            "A group by its id. Null if there is none.",
            Resolve::Call(|call| ready(by_id::<GroupId>(call)).boxed()),
        )
        .who(Who::Anyone)
        .field(
            "node(\"Its id.\" id: ID!): Node",
            "Any object by its id. Null if there is none.",
            Resolve::Call(|call| node(call).boxed()),
        )
        .who(Who::Anyone)
        .field(
            "nodes(\"Their ids.\" ids: [ID!]!): [Node]!",
            "Objects by their ids, in the order of the ids: at most 100. Null for an object that does not exist.",
            Resolve::Call(|call| nodes(call).boxed()),
        )
        .who(Who::Anyone)
        .field(
            "notesByKey(\"Their keys: the app's own ids of them.\" keys: [String!]!): [Note]!",
            "Notes by their keys, in the order of the keys: at most 100. Null for a key of no note.",
            Resolve::Call(|call| notes_by_key(call).boxed()),
        )
        .who(Who::Anyone)
}

fn viewer(call: Call<'_>) -> Output {
    if call.scope.viewer().is_signed_in() { Object::Root.into() } else { Output::NULL }
}

async fn user_by_subject(call: Call<'_>) -> ApiResult<Output> {
    let subject = call.arguments.text("subject").unwrap_or_default();
    let subject = Subject::try_from(subject.into_owned())
        .map_err(|why| ApiError::bad_input("subject", format!("subject: {why}")))?;
    let user = call.scope.find_by_keys(EntityKind::User, &[subject.as_str()]).await?.pop().flatten();
    Ok(Output::optional(user.map(Object::sought)))
}

fn by_id<T: TypedId>(call: Call<'_>) -> ApiResult<Output> {
    Ok(Output::optional(known(call.arguments.id::<T>("id"))?.map(Object::sought)))
}

async fn node(call: Call<'_>) -> ApiResult<Output> {
    let id = call.arguments.text("id").unwrap_or_default();
    Ok(by_any_id("id", &[id], call.scope).await?.pop().into())
}

async fn nodes(call: Call<'_>) -> ApiResult<Output> {
    let ids = call.arguments.texts("ids");
    must_be_few("ids", ids.len())?;
    Ok(Output::List(by_any_id("ids", &ids, call.scope).await?))
}

/// Objects in the order of their ids. Entries of inboxes are one look-up.
async fn by_any_id(argument: &'static str, ids: &[Cow<'_, str>], scope: &Scope) -> ApiResult<Vec<Output>> {
    let named: Vec<EntryKey> = ids.iter().filter_map(|id| entry_named(id)).collect();
    let entries = if named.is_empty() { BTreeMap::new() } else { own_entries(named, scope).await? };
    let object = |id: &Cow<'_, str>| -> ApiResult<Output> {
        Ok(match entry_named(id) {
            Some(key) => Output::optional(entries.get(&key).cloned()),
            None => Output::optional(known(parse_any(argument, id))?.map(Object::sought)),
        })
    };
    ids.iter().map(object).collect()
}

async fn notes_by_key(call: Call<'_>) -> ApiResult<Output> {
    let keys = call.arguments.texts("keys");
    must_be_few("keys", keys.len())?;
    keys.iter().try_for_each(|key| AppKey::parse("keys", key).map(drop))?;
    let keys: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
    let notes = call.scope.find_by_keys(EntityKind::Note, &keys).await?;
    Ok(Output::List(notes.into_iter().map(|note| Output::optional(note.map(Object::sought))).collect()))
}

fn must_be_few(argument: &'static str, number: usize) -> ApiResult<()> {
    if number <= MAX_IDS {
        return Ok(());
    }
    Err(ApiError::bad_input(argument, format!("{argument}: at most {MAX_IDS} {argument}, not {number}")))
}
