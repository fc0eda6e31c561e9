//! Events of the stream.

use super::inbox_entries;
use crate::definition::{
    types::{EnumType, ObjectType},
    values::{Object, Output, Scalar},
};
use plaudit_catalogue::EventKind;
use plaudit_domain::{EventObject, StreamedEvent};

pub fn event_type() -> EnumType {
    EnumType { name: "EventType", description: "What happened.", values: TYPES.to_vec() }
}

const TYPES: [(&str, &str); 13] = [
    ("LIKED", "A user likes a note or comment."),
    ("UNLIKED", "A user took a like back."),
    ("FOLLOWED", "A user follows a user."),
    ("UNFOLLOWED", "A user does not follow a user any more."),
    ("COLLECTED", "A user keeps a note."),
    ("UNCOLLECTED", "A user does not keep a note any more."),
    ("JOINED", "A user is a member of a group."),
    ("LEFT", "A user is not a member of a group any more."),
    ("COMMENTED", "A comment is seen by everybody: it was approved."),
    (
        "REMOVED",
        "A note, comment or group was removed. Comments of a removed note go with it, without events of their own.",
    ),
    (
        "ERASED",
        "A user was erased, with everything that the user wrote and did. For some days the event has the user's subject.",
    ),
    ("NOTIFIED", "An inbox got an entry, or an entry new events: what users are told of."),
    (EventKind::UNKNOWN, "Something that this server does not know yet: a newer one wrote it."),
];

pub fn event_object_type() -> ObjectType {
    ObjectType::new("Event", "Something that happened.").parts([
        ("cursor: String!", "Its place in the stream, for `after`. Unique among all events."),
        ("type: EventType!", "What happened."),
        ("at: DateTime!", "When."),
        ("actor: EventObject", "The user who did it. Null for nobody, and for an erased user."),
        ("target: EventObject", "What or whom it is about. Null for an erased user, except of `ERASED`."),
        ("note: EventObject", "Of a comment: its note."),
        ("recipient: EventObject", "Of `NOTIFIED`: whose inbox it is."),
        ("notice: InboxEntryKind", "Of `NOTIFIED`: what it tells of."),
        (
            "number: Int!",
            "Of `NOTIFIED`: how many events it stands for, such as likes of a note within a moment; `actor` did the newest. \
             Else 1.",
        ),
    ])
}

pub fn message_object() -> ObjectType {
    ObjectType::new("EventObject", "A user or thing of an event, with the names that it has now.").parts([
        ("id: ID!", "Its id, for `node`."),
        ("subject: String", "Of a user: the `sub` claim of their tokens. Null once the user was erased."),
        ("key: String", "Of a note, comment or group: the app's own id of it."),
        (
            "name: String",
            "The name of a user or group, or the title of a note. Null of what not everybody sees any more, and of comments.",
        ),
        ("url: URL", "Of a note: the app's page about it. Null for none, and of what not everybody sees any more."),
    ])
}

pub fn event(of: StreamedEvent) -> Object {
    let kind = of.type_name();
    let notice = match of.kind {
        Some(EventKind::Notice(kind)) => inbox_entries::kind_name(kind),
        _ => None,
    };
    Object::record([
        ("cursor", of.cursor.to_string().into()),
        ("type", Scalar::Name(kind).into()),
        ("at", of.at.into()),
        ("actor", object(of.actor)),
        ("target", object(of.target)),
        ("note", object(of.note)),
        ("recipient", object(of.recipient)),
        ("notice", notice.map(|name| Scalar::Name(name).into()).into()),
        ("number", i64::from(of.number).into()),
    ])
}

fn object(of: Option<EventObject>) -> Output {
    Output::optional(of.map(|EventObject { entity, subject, key, name, url }| {
        Object::record([
            ("id", Scalar::Id(entity).into()),
            ("subject", subject.map(Output::from).into()),
            ("key", key.map(Output::from).into()),
            ("name", name.map(Output::from).into()),
            ("url", url.map(Output::from).into()),
        ])
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plaudit_catalogue::{EdgeKind, InboxKind};

    #[test]
    fn every_kind_of_event_has_a_type_and_every_type_a_kind() {
        let off = EdgeKind::ALL.iter().map(|kind| EventKind::Edge(*kind, false));
        let kinds = EventKind::all().chain(off).map(EventKind::name).chain([EventKind::UNKNOWN]);
        let kinds: std::collections::BTreeSet<_> = kinds.collect();
        assert_eq!(kinds, TYPES.iter().map(|(name, _)| *name).collect());
    }

    #[test]
    fn a_notice_has_the_same_name_in_lines_and_in_the_schema() {
        for kind in InboxKind::all() {
            assert_eq!(inbox_entries::kind_name(kind), Some(kind.event_name()));
        }
    }
}
