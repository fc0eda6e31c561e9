//! What an app's own servers write of the app: users, groups and notes, many at once, each with its own result.

use futures_util::FutureExt;
use plaudit_token_auth::Subject;

use super::{
    action::{Action, Mutation, Permission, payload},
    notes::note_text,
};
use crate::{
    definition::{
        arguments::Arguments,
        resolve::Call,
        types::{EnumType, InputDefinition, ObjectType, input_fields},
        values::{Object, Output, Scalar},
    },
    errors::{ApiError, ApiResult},
    request::{access::Who, ids::parse_as},
};
use plaudit_catalogue::{
    Entity, EntityKind,
    primitives::{Id, NoteId},
};
use plaudit_domain::{
    AppKey, CreationTime, ElementDone, ElementOutcome, ElementResults, GROUP_DESCRIPTION, GROUP_NAME,
    GroupUpsert, ImageAddress, NoteUpsert, PageAddress, Text, TextRule, USER_NAME, UserUpsert,
    content::upserts::{groups, notes, removals, users},
};

/// Most elements of a request.
pub const MAX_ELEMENTS: usize = 500;

const UNCHANGED: Option<&str> = Some("False when everything was so already.");
const CREATED_AT: (&str, &str) = (
    "createdAt: DateTime",
    "When it was created, of a new one: not before 1970, and not in the future. Omit it for now.",
);
const KEY: (&str, &str) =
    ("key: String!", "Your app's own id of it: 1 to 200 bytes without control characters.");

pub const MUTATIONS: &[Mutation] = &[
    Mutation {
        name: "upsertUsers",
        permission: Permission::Create(Who::Service),
        description: "Creates users before their first action, or changes their profiles. For services.",
        input: &[("users: [UserUpsert!]!", "The users: 1 to 500.")],
        unchanged: UNCHANGED,
        payload: &[("results: [UserUpsertResult!]!", "One for each element, in their order.")],
        act: |call| upsert_users(call).boxed(),
    },
    Mutation {
        name: "upsertGroups",
        permission: Permission::Create(Who::Service),
        description: "Creates groups by your app's keys, or changes their texts. For services.",
        input: &[("groups: [GroupUpsert!]!", "The groups: 1 to 500.")],
        unchanged: UNCHANGED,
        payload: &[("results: [GroupUpsertResult!]!", "One for each element, in their order.")],
        act: |call| upsert_groups(call).boxed(),
    },
    Mutation {
        name: "upsertNotes",
        permission: Permission::Create(Who::Service),
        description: "Creates notes by your app's keys, or changes their texts. The authors need not be members of the groups. For services.",
        input: &[("notes: [NoteUpsert!]!", "The notes: 1 to 500.")],
        unchanged: UNCHANGED,
        payload: &[("results: [NoteUpsertResult!]!", "One for each element, in their order.")],
        act: |call| upsert_notes(call).boxed(),
    },
    Mutation {
        name: "removeNotes",
        permission: Permission::Write(Who::Service),
        description: "Removes notes as `deleteNote` does. For services.",
        input: &[("noteIds: [ID!]!", "The notes to remove: 1 to 500.")],
        unchanged: Some("False when they were removed before."),
        payload: &[("results: [NoteRemovalResult!]!", "One for each id, in their order.")],
        act: |call| remove_notes(call).boxed(),
    },
];

/// The elements of the inputs.
pub fn input_types() -> [InputDefinition; 3] {
    let input = |name, description: &str, fields: &[(&str, &str)]| InputDefinition {
        name,
        description: description.to_owned(),
        fields: input_fields(fields.iter().copied()),
    };
    [
        input(
            "UserUpsert",
            "A user as your app knows them.",
            &[
                ("subject: String!", "The `sub` claim of the user's tokens: 1 to 255 bytes."),
                (
                    "name: String",
                    "1 to 40 characters on one line. Omit it to leave it as it is; a new user without a name is called `User` and a number.",
                ),
                (
                    "avatarUrl: URL",
                    "An https address of at most 2048 bytes; it is not fetched. An empty text removes it. Omit it to leave it as it is.",
                ),
                CREATED_AT,
            ],
        ),
        input(
            "GroupUpsert",
            "A group as your app knows it.",
            &[
                KEY,
                (
                    "ownerId: ID!",
                    "Its owner, who exists: `user:<subject>`. The owner of a group never changes.",
                ),
                ("name: String!", "1 to 80 characters on one line."),
                ("description: String", "At most 1000 characters. Omit it to leave it as it is."),
                CREATED_AT,
            ],
        ),
        input(
            "NoteUpsert",
            "A note as your app knows it.",
            &[
                KEY,
                (
                    "authorId: ID!",
                    "Its author, who exists: `user:<subject>`. The author of a note never changes.",
                ),
                (
                    "groupId: ID",
                    "The group that a new note is posted in. A note never moves to another group; one that was taken out stays out.",
                ),
                (
                    "title: String",
                    "1 to 200 characters on one line. Omit it to leave it as it is, null removes it; a new note may have none.",
                ),
                (
                    "body: String",
                    "1 to 10000 characters. Omit it to leave it as it is, null removes it; a new note may have none.",
                ),
                (
                    "url: URL",
                    "Your app's page about it: an https or http address. Omit it to leave it as it is.",
                ),
                CREATED_AT,
            ],
        ),
    ]
}

/// The results of elements.
pub fn result_types() -> [ObjectType; 5] {
    let outcome = ("outcome: ElementOutcome!", "What became of it.");
    let error = ("error: ElementError", "Why it was refused.");
    let result =
        |name, description: &str, thing| ObjectType::new(name, description).parts([outcome, thing, error]);
    [
        result(
            "UserUpsertResult",
            "What became of a user.",
            ("user: User", "The user, unless the element was refused."),
        ),
        result(
            "GroupUpsertResult",
            "What became of a group.",
            ("group: Group", "The group, unless the element was refused."),
        ),
        result(
            "NoteUpsertResult",
            "What became of a note.",
            ("note: Note", "The note, unless the element was refused."),
        ),
        result(
            "NoteRemovalResult",
            "What became of a note that was to be removed.",
            (
                "removedNoteId: ID",
                "The id of the note, unless the element was refused: to evict from your cache.",
            ),
        ),
        ObjectType::new(
            "ElementError",
            "Why an element of a request was refused. The other elements are not concerned.",
        )
        .parts([
            ("code: String!", "As `extensions.code` of other errors."),
            ("message: String!", "What is wrong and how to mend it."),
            ("argument: String", "The field of the element that is at fault."),
            ("reason: String", "As `extensions.reason` of other errors."),
        ]),
    ]
}

pub fn element_outcome() -> EnumType {
    EnumType {
        name: "ElementOutcome",
        description: "What became of an element of a request.",
        values: vec![
            ("CREATED", "It is new."),
            ("UPDATED", "It existed, and something of it became another."),
            ("REMOVED", "It was removed."),
            ("UNCHANGED", "It was so already."),
            ("REFUSED", "See `error`. Nothing was done about it."),
        ],
    }
}

async fn upsert_users(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let parsed = elements(&action, "users", user)?;
    let results = users::upsert_users(action.plaudit(), &good(&parsed)).await?;
    Ok(answer(parsed, results, "user", |id| Object::of(Entity::new(EntityKind::User, id)).into()))
}

async fn upsert_groups(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let parsed = elements(&action, "groups", group)?;
    let results = groups::upsert_groups(action.plaudit(), &good(&parsed)).await?;
    Ok(answer(parsed, results, "group", |id| Object::of(Entity::new(EntityKind::Group, id)).into()))
}

async fn upsert_notes(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let parsed = elements(&action, "notes", note)?;
    let results = notes::upsert_notes(action.plaudit(), &good(&parsed)).await?;
    Ok(answer(parsed, results, "note", |id| Object::of(Entity::new(EntityKind::Note, id)).into()))
}

async fn remove_notes(call: Call<'_>) -> ApiResult<Output> {
    let action = Action::begin(call)?;
    let ids = action.input.texts("noteIds");
    must_be_few("noteIds", ids.len())?;
    let parsed: Vec<ApiResult<NoteId>> = ids.iter().map(|id| parse_as("noteIds", id)).collect();
    let results = removals::remove_notes_of_app(action.plaudit(), &good(&parsed)).await?;
    Ok(answer(parsed, results, "removedNoteId", |id| Scalar::Id(Entity::new(EntityKind::Note, id)).into()))
}

fn user(element: &Arguments) -> ApiResult<UserUpsert> {
    let subject = Subject::try_from(element.text("subject").unwrap_or_default().into_owned());
    let avatar_url =
        element.text("avatarUrl").map(|address| ImageAddress::parse_or_none("avatarUrl", &address));
    Ok(UserUpsert {
        subject: subject.map_err(|why| ApiError::bad_input("subject", format!("subject: {why}")))?,
        name: optional_text(element, &USER_NAME)?,
        avatar_url: avatar_url.transpose()?,
        created_at: created_at(element)?,
    })
}

fn group(element: &Arguments) -> ApiResult<GroupUpsert> {
    Ok(GroupUpsert {
        key: key(element)?,
        owner: element.id("ownerId")?,
        name: text(element, &GROUP_NAME)?,
        description: optional_text(element, &GROUP_DESCRIPTION)?,
        created_at: created_at(element)?,
    })
}

fn note(element: &Arguments) -> ApiResult<NoteUpsert> {
    Ok(NoteUpsert {
        key: key(element)?,
        author: element.id("authorId")?,
        group: element.optional_id("groupId")?,
        url: element.text("url").map(|url| PageAddress::parse("url", &url)).transpose()?,
        text: note_text(element)?,
        created_at: created_at(element)?,
    })
}

fn key(element: &Arguments) -> ApiResult<AppKey> {
    Ok(AppKey::parse("key", &element.text("key").unwrap_or_default())?)
}

fn text(element: &Arguments, rule: &TextRule) -> ApiResult<Text> {
    Ok(Text::parse(&element.text(rule.argument).unwrap_or_default(), rule)?)
}

fn optional_text(element: &Arguments, rule: &TextRule) -> ApiResult<Option<Text>> {
    Ok(element.text(rule.argument).map(|text| Text::parse(&text, rule)).transpose()?)
}

fn created_at(element: &Arguments) -> ApiResult<Option<CreationTime>> {
    Ok(element.time("createdAt").map(CreationTime::parse).transpose()?)
}

/// The elements of a list of input objects, each parsed or refused.
///
/// # Errors
/// [`Code::BadUserInput`](crate::Code::BadUserInput) for too many elements, or none.
fn elements<T>(
    action: &Action<'_>,
    list: &'static str,
    parse: fn(&Arguments) -> ApiResult<T>,
) -> ApiResult<Vec<ApiResult<T>>> {
    let elements = action.input.inputs(list);
    must_be_few(list, elements.len())?;
    Ok(elements.iter().map(parse).collect())
}

fn must_be_few(list: &'static str, length: usize) -> ApiResult<()> {
    if (1..=MAX_ELEMENTS).contains(&length) {
        return Ok(());
    }
    Err(ApiError::bad_input(
        list,
        format!("{list}: 1 to {MAX_ELEMENTS} elements, not {length}; send several requests"),
    ))
}

/// Those that were parsed, in their order.
fn good<T: Clone>(parsed: &[ApiResult<T>]) -> Vec<T> {
    parsed.iter().filter_map(|element| element.as_ref().ok().cloned()).collect()
}

/// The payload. `results`: of the elements that were parsed, in their order; `field`, `thing`: what each is about.
fn answer<T>(
    parsed: Vec<ApiResult<T>>,
    results: ElementResults,
    field: &'static str,
    thing: fn(Id) -> Output,
) -> Output {
    let mut results = results.into_iter();
    let mut changed = false;
    let elements = parsed.into_iter().map(|element| {
        let done = element.and_then(|_| match results.next() {
            Some(result) => Ok(result?),
            None => Err(ApiError::internal()),
        });
        match done {
            Ok(ElementDone { outcome, id }) => {
                changed |= outcome != ElementOutcome::Unchanged;
                let outcome = Scalar::Name(outcome_name(outcome)).into();
                Object::record([("outcome", outcome), (field, thing(id)), ("error", Output::NULL)])
            }
            Err(refused) => {
                let (outcome, error) = (Scalar::Name("REFUSED").into(), element_error(&refused));
                Object::record([("outcome", outcome), (field, Output::NULL), ("error", error)])
            }
        }
    });
    let elements = Output::list(elements.collect::<Vec<_>>());
    payload(changed, [("results", elements)])
}

const fn outcome_name(outcome: ElementOutcome) -> &'static str {
    match outcome {
        ElementOutcome::Created => "CREATED",
        ElementOutcome::Updated => "UPDATED",
        ElementOutcome::Removed => "REMOVED",
        ElementOutcome::Unchanged => "UNCHANGED",
    }
}

fn element_error(error: &ApiError) -> Output {
    let optional = |text: Option<&str>| text.map(|text| Output::from(text.to_owned())).into();
    Object::record([
        ("code", Scalar::from(error.code().name()).into()),
        ("message", error.message().to_owned().into()),
        ("argument", optional(error.argument())),
        ("reason", optional(error.reason())),
    ])
    .into()
}
