//! Entries of an inbox.

use std::sync::Arc;

use futures_util::FutureExt;

use super::inbox_badges::badge_name;
use crate::{
    catalogue::{EdgeKind, Entity, EntityKind, InboxKind},
    domain::{ActorsOf, Badge, InboxEntry},
    graphql::{
        definition::{
            pages::{FIRST, List},
            resolve::{Call, Resolve},
            types::{EnumType, ObjectType},
            values::{Object, Output, Scalar},
        },
        errors::{ApiError, ApiResult},
    },
    primitives::{Id, Slice, UserId},
};

const ENTRIES: List = List("inbox");

/// Most actors that an entry shows.
const MAX_ACTORS: i32 = 10;

pub fn inbox_entry() -> ObjectType {
    ObjectType::new(
        "InboxEntry",
        "A notification: what one or more users did to you, your note or your comment. Equal events are one entry.",
    )
    .parts([
        (
            "id: ID!",
            "Opaque and unique among all objects. `node` does not accept it. A new event moves the entry to the top, \
             under a new id.",
        ),
        ("kind: InboxEntryKind!", "What happened."),
        ("badge: InboxBadge!", "The badge that counts it."),
        ("isRead: Boolean!", "Whether you have read all of its events."),
        (
            "actorCount: Count!",
            "How many users did it: also those who took it back after you had read it, and hidden users.",
        ),
        (
            "about: Node",
            "The object of the notification: your note or comment, the new comment, the user who wrote to you, or you. \
             Null if it was removed.",
        ),
        ("createdAt: DateTime!", "When the newest event happened."),
    ])
    .field(
        &format!("actors(\"Number of users: 1 to {MAX_ACTORS}.\" first: Int = 3): [User!]!"),
        "The users who did it last, the newest first, without hidden users and those who took it back.",
        Resolve::Call(|call| actors(call).boxed()),
    )
}

pub fn inbox_entry_kind() -> EnumType {
    EnumType {
        name: "InboxEntryKind",
        description: "What happened.",
        values: KINDS.iter().map(|kind| (kind.name, kind.description)).collect(),
    }
}

/// What happened, and what it is about.
struct EntryKind {
    name: &'static str,
    description: &'static str,
    stored: InboxKind,
    about: EntityKind,
}

impl EntryKind {
    const fn new(
        stored: InboxKind,
        about: EntityKind,
        name: &'static str,
        description: &'static str,
    ) -> Self {
        Self { name, description, stored, about }
    }
}

const KINDS: [EntryKind; 7] = [
    EntryKind::new(
        InboxKind::Edge(EdgeKind::NoteLike),
        EntityKind::Note,
        "NOTE_LIKED",
        "Somebody liked your note.",
    ),
    EntryKind::new(
        InboxKind::Edge(EdgeKind::CommentLike),
        EntityKind::Comment,
        "COMMENT_LIKED",
        "Somebody liked your comment.",
    ),
    EntryKind::new(InboxKind::Edge(EdgeKind::Follow), EntityKind::User, "FOLLOWED", "Somebody follows you."),
    EntryKind::new(
        InboxKind::Comment,
        EntityKind::Comment,
        "NOTE_COMMENTED",
        "Somebody commented on your note.",
    ),
    EntryKind::new(
        InboxKind::Reply,
        EntityKind::Comment,
        "COMMENT_ANSWERED",
        "Somebody replied to your comment.",
    ),
    EntryKind::new(
        InboxKind::Mention,
        EntityKind::Comment,
        "MENTIONED",
        "Somebody mentioned you in a comment.",
    ),
    EntryKind::new(InboxKind::Message, EntityKind::User, "MESSAGE_RECEIVED", "Somebody sent you messages."),
];

/// The name of a kind in the schema; `None` for one that makes no entries.
pub fn kind_name(kind: InboxKind) -> Option<&'static str> {
    KINDS.iter().find(|known| known.stored == kind).map(|known| known.name)
}

pub async fn page_of_entries(call: Call<'_>) -> ApiResult<Output> {
    let request = ENTRIES.request(call.arguments, FIRST)?;
    let owner = UserId(call.entity()?.id);
    let entries = call.scope.plaudit().inbox_entries(owner, request).await?;
    let Slice { items, has_more } = entries;
    let items = items.into_iter().filter_map(|row| Some((row.id, entry(owner, row)?))).collect();
    Ok(ENTRIES.page(&request, Slice { items, has_more }))
}

fn badge_of(kind: InboxKind) -> Option<Badge> {
    Badge::ALL.into_iter().find(|badge| Some(badge.counter()) == kind.badge())
}

/// `None` for a kind of a later release.
pub fn entry(owner: UserId, row: InboxEntry) -> Option<Object> {
    let kind = KINDS.iter().find(|kind| kind.stored.number() == row.kind)?;
    Some(Object::record([
        ("id", entry_id(owner, row.id).into()),
        ("kind", Scalar::Name(kind.name).into()),
        ("badge", badge_of(kind.stored).map(|badge| Scalar::Name(badge_name(badge)).into()).into()),
        ("isRead", row.is_read.into()),
        ("actorCount", i64::from(row.actors).into()),
        ("about", Object::sought(Entity::new(kind.about, row.target)).into()),
        ("createdAt", row.created_at.into()),
        (OWNER, owner.into()),
    ]))
}

/// The part of an entry that names its owner; no field shows it.
const OWNER: &str = "owner";

/// The id of the entry at a position: it names the inbox, too, because positions of all inboxes come from one sequence.
fn entry_id(owner: UserId, position: Id) -> String {
    format!("entry_{owner}_{position}")
}

/// The inbox and the position that the id of an entry names.
///
/// # Errors
/// [`Code::BadUserInput`](crate::graphql::Code::BadUserInput) naming `argument`.
pub fn parse_entry_id(argument: &'static str, text: &str) -> ApiResult<(UserId, Id)> {
    let parse = || {
        let (owner, position) = text.strip_prefix("entry_")?.split_once('_')?;
        Some((UserId(owner.parse().ok()?), position.parse().ok()?))
    };
    let refused =
        || format!("{argument}: it is not the id of an inbox entry; pass the id of one of `entries`");
    parse().ok_or_else(|| ApiError::bad_input(argument, refused()))
}

async fn actors(call: Call<'_>) -> ApiResult<Output> {
    let first = call.arguments.int("first").unwrap_or(3);
    if !(1..=MAX_ACTORS).contains(&first) {
        let message = format!("first: an entry shows 1 to {MAX_ACTORS} actors, not {first}");
        return Err(ApiError::bad_input("first", message));
    }
    let of = actors_of(call, first).ok_or_else(ApiError::internal)?;
    let actors = if of.most == 0 { Arc::default() } else { call.scope.inbox_actors(of).await? };
    Ok(Output::list(actors.iter().copied()))
}

/// What [`entry`] has written of an entry.
fn actors_of(call: Call<'_>, first: i32) -> Option<ActorsOf> {
    let Output::Scalar(Scalar::Name(name)) = call.part("kind")? else { return None };
    let Output::Scalar(Scalar::Int(number)) = call.part("actorCount")? else { return None };
    let id = |part| match call.part(part)? {
        Output::Object(Object::Entity(entity, _)) => Some(entity.id),
        _ => None,
    };
    let kind = KINDS.iter().find(|kind| kind.name == *name)?.stored;
    let most = i64::from(first).min(*number).max(0) as usize;
    Some(ActorsOf { recipient: UserId(id(OWNER)?), kind, target: id("about")?, most })
}
