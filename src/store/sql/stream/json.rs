//! The JSON of an event, as lines and webhooks have it. Absent parts are left out.

use serde::{Serialize, Serializer, ser::SerializeStruct};

use super::events::{EventObject, StreamedEvent};
use plaudit_catalogue::EntityKind;

impl Serialize for StreamedEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut event = serializer.serialize_struct("Event", 9)?;
        event.serialize_field("cursor", &self.cursor.to_string())?;
        event.serialize_field("type", self.type_name())?;
        event.serialize_field("at", &self.at)?;
        if let Some(notice) = self.notice_name() {
            event.serialize_field("notice", notice)?;
            event.serialize_field("number", &self.number)?;
        }
        let objects = [
            ("actor", &self.actor),
            ("target", &self.target),
            ("note", &self.note),
            ("recipient", &self.recipient),
        ];
        for (name, object) in objects {
            if let Some(object) = object {
                event.serialize_field(name, object)?;
            }
        }
        event.end()
    }
}

impl Serialize for EventObject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("EventObject", 4)?;
        object.serialize_field("id", &self.id())?;
        let own_id = if self.entity.kind == EntityKind::User { "subject" } else { "key" };
        if let Some(text) = self.subject.as_ref().or(self.key.as_ref()) {
            object.serialize_field(own_id, text)?;
        }
        for (part, text) in [("name", &self.name), ("url", &self.url)] {
            if let Some(text) = text {
                object.serialize_field(part, text)?;
            }
        }
        object.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use plaudit_catalogue::{Entity, EventKind, InboxKind, primitives::EventCursor};

    #[test]
    fn an_event_has_what_is_known_of_it() {
        let object = |kind, id: i64, subject: Option<&str>, key: Option<&str>| EventObject {
            entity: Entity::new(kind, id.try_into().unwrap()),
            subject: subject.map(ToOwned::to_owned),
            key: key.map(ToOwned::to_owned),
            name: None,
            url: None,
        };
        let event = StreamedEvent {
            cursor: EventCursor { installation: 1, written_at: 2, position: 3 },
            kind: Some(EventKind::Notice(InboxKind::Reply)),
            at: "2026-01-02T03:04:05Z".parse().unwrap(),
            number: 1,
            actor: None,
            target: Some(object(EntityKind::Comment, 9, None, Some("c-9"))),
            note: Some(object(EntityKind::Note, 4, None, None)),
            recipient: Some(object(EntityKind::User, 7, Some("ada"), None)),
        };
        assert_eq!(
            serde_json::to_value(&event).unwrap(),
            json!({
                "cursor": "000000000000000100000000000000020000000000000003",
                "type": "NOTIFIED", "at": "2026-01-02T03:04:05Z", "notice": "COMMENT_ANSWERED", "number": 1,
                "target": { "id": "comment_9", "key": "c-9" },
                "note": { "id": "note_4" },
                "recipient": { "id": "user_7", "subject": "ada" },
            })
        );
    }
}
