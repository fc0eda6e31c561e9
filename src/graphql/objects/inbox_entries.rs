//! Entries of an inbox.

use std::{collections::BTreeMap, sync::Arc};

use futures_util::FutureExt;

use super::inbox_badges::badge_name;
use crate::{
    definition::{
        interfaces::NODE,
        pages::{FIRST, List},
        resolve::{Call, Resolve},
        types::{EnumType, ObjectType},
        values::{Object, Output, Scalar},
    },
    errors::{ApiError, ApiResult},
    reading::scope::Scope,
};
use plaudit_catalogue::{
    EdgeKind, Entity, EntityKind, InboxKind,
    primitives::{Id, Slice, UserId},
};
use plaudit_domain::{ActorsOf, Badge, EntryKey, InboxEntry, people::inbox};

const ENTRIES: List = List("inbox");

/// Most actors that an entry shows.
const MAX_ACTORS: i32 = 10;

pub fn inbox_entry() -> ObjectType {
    ObjectType::new(
        "InboxEntry",
        "A notification: what one or more users did to you, your note or your comment. Equal events are one entry.",
    )
    .implements(NODE)
    .parts([
        ("id: ID!", "Opaque and unique among all objects. It stays the same. `node` answers it to you alone."),
        (
            "cursor: String!",
            "Its place in `Inbox.entries`, for `after`, and for `upTo` of `markInboxRead`. A new event moves the entry to the \
             top, to another place.",
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
    let entries = inbox::inbox_entries(call.scope.plaudit(), owner, request).await?;
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
    let key = EntryKey { recipient: owner, kind: row.kind, target: row.target };
    Some(Object::record_of(
        "InboxEntry",
        [
            ("id", entry_id(key).into()),
            ("cursor", ENTRIES.cursor(&row.id).encode().into()),
            ("kind", Scalar::Name(kind.name).into()),
            ("badge", badge_of(kind.stored).map(|badge| Scalar::Name(badge_name(badge)).into()).into()),
            ("isRead", row.is_read.into()),
            ("actorCount", i64::from(row.actors).into()),
            ("about", Object::sought(Entity::new(kind.about, row.target)).into()),
            ("createdAt", row.created_at.into()),
            (OWNER, owner.into()),
        ],
    ))
}

/// The part of an entry that names its owner; no field shows it.
const OWNER: &str = "owner";

/// The id of what makes events equal, so that it stays while positions move.
fn entry_id(EntryKey { recipient, kind, target }: EntryKey) -> String {
    format!("entry_{recipient}_{kind}_{target}")
}

/// What the id of an entry names; `None` for other texts.
pub fn entry_named(id: &str) -> Option<EntryKey> {
    let mut parts = id.strip_prefix("entry_")?.splitn(3, '_');
    let mut next = || parts.next();
    let key = EntryKey {
        recipient: UserId(next()?.parse().ok()?),
        kind: next()?.parse().ok()?,
        target: next()?.parse().ok()?,
    };
    (entry_id(key) == id).then_some(key)
}

/// The named entries that are the viewer's and exist.
pub async fn own_entries(named: Vec<EntryKey>, scope: &Scope) -> ApiResult<BTreeMap<EntryKey, Object>> {
    let Some(owner) = scope.viewer().user(scope.plaudit()).await? else { return Ok(BTreeMap::new()) };
    let own: Vec<EntryKey> = named.into_iter().filter(|key| key.recipient == owner).collect();
    let rows = inbox::inbox_entries_named(scope.plaudit(), &own).await?;
    let entries = rows.into_iter().filter_map(|row| {
        let key = EntryKey { recipient: owner, kind: row.kind, target: row.target };
        Some((key, entry(owner, row)?))
    });
    Ok(entries.collect())
}

/// The position in a cursor of an inbox. Positions of all inboxes come from one sequence.
///
/// # Errors
/// [`Code::BadUserInput`](crate::Code::BadUserInput) naming `argument`.
pub fn position(argument: &'static str, cursor: &str) -> ApiResult<Id> {
    ENTRIES.place(argument, "the cursor of an entry", cursor)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_an_entry_names_its_group_and_no_other_text_does() {
        let id = |raw: i64| Id::try_from(raw).unwrap();
        let key = EntryKey { recipient: UserId(id(5)), kind: 101, target: id(42) };
        assert_eq!(entry_named("entry_5_101_42"), Some(key));
        for bad in
            ["entry_5_101", "entry_5_101_42_", "entry_5_+1_42", "entry_05_1_42", "entry_0_1_42", "note_42"]
        {
            assert_eq!(entry_named(bad), None, "{bad}");
        }
    }
}
