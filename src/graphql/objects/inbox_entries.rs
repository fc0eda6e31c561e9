//! Entries of an inbox.

use super::inbox_badges::badge_name;
use crate::{
    catalogue::{EdgeKind, Entity, EntityKind, InboxKind},
    domain::{Badge, InboxEntry},
    graphql::{
        definition::{
            pages::{FIRST, List},
            types::{Call, EnumType, ObjectType},
            values::{Object, Output, Scalar},
        },
        errors::ApiResult,
    },
    primitives::{Slice, UserId},
};

const ENTRIES: List = List("inbox");

pub fn inbox_entry() -> ObjectType {
    ObjectType::new(
        "InboxEntry",
        "One notification: the first time that a user did something to you, your note or your comment.",
    )
    .parts([
        ("id: ID!", "Opaque and unique among all objects. `node` does not accept it."),
        ("kind: InboxEntryKind!", "What happened."),
        ("badge: InboxBadge!", "The badge that counts it."),
        ("actor: User", "The user who did it. Null if the user no longer exists."),
        (
            "about: Node",
            "The object of the notification: your note or comment, the new comment, or you. Null if it was removed.",
        ),
        ("createdAt: DateTime!", "When it happened."),
    ])
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
    EntryKind::new(InboxKind::Message, EntityKind::User, "MESSAGE_RECEIVED", "Somebody wrote to you."),
];

pub async fn page_of_entries(call: Call<'_>) -> ApiResult<Output> {
    let request = ENTRIES.request(call.arguments, FIRST)?;
    let owner = UserId(call.entity()?.id);
    let Slice { items, has_more } = call.scope.plaudit().inbox_entries(owner, request).await?;
    let items = items.into_iter().filter_map(|row| Some((row.id, entry(row)?))).collect();
    Ok(ENTRIES.page(&request, Slice { items, has_more }))
}

fn badge_of(kind: InboxKind) -> Option<Badge> {
    Badge::ALL.into_iter().find(|badge| Some(badge.counters().0) == kind.badge())
}

/// `None` for a kind of a later release.
pub fn entry(row: InboxEntry) -> Option<Object> {
    let kind = KINDS.iter().find(|kind| kind.stored.number() == row.kind)?;
    Some(Object::record([
        ("id", format!("entry_{}", row.id).into()),
        ("kind", Scalar::Name(kind.name).into()),
        ("badge", badge_of(kind.stored).map(|badge| Scalar::Name(badge_name(badge)).into()).into()),
        ("actor", row.actor.into()),
        ("about", Object::sought(Entity::new(kind.about, row.target)).into()),
        ("createdAt", row.created_at.into()),
    ]))
}
