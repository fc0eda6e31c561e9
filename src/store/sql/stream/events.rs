//! The stream of events: written by the commit of the transaction that makes them happen, read in the order of
//! positions. See docs/internals/event-stream.md.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::FromRow;

pub use crate::sql::connection::new_event::NewEvent;
use crate::{
    StoreError, StoreResult,
    sql::{Db, Tx, from_catalogue},
};
use plaudit_catalogue::{
    Entity, EntityKind, EventKind,
    primitives::{EventCursor, Id},
};

/// How often a reader that has all events looks for new ones.
pub const LOOK_EVERY: Duration = Duration::from_millis(250);

/// SQL: half of the installation's id.
const INSTALLATION: &str =
    "(SELECT ('x' || left(replace(id::text, '-', ''), 16))::bit(64)::bigint FROM installation)";

/// An event as it is read: ids, with the keys, subjects and names that they have now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StreamedEvent {
    pub cursor: EventCursor,
    /// `None` for one of a later release.
    pub kind: Option<EventKind>,
    pub at: DateTime<Utc>,
    pub number: i32,
    /// Who did it; `None` for nobody, and for an erased user.
    pub actor: Option<EventObject>,
    /// What or whom it is about; `None` for an erased user.
    pub target: Option<EventObject>,
    /// The note of a comment.
    pub note: Option<EventObject>,
    /// Whose inbox it is, of a notice.
    pub recipient: Option<EventObject>,
}

/// A user or thing of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventObject {
    pub entity: Entity,
    /// Of a user.
    pub subject: Option<String>,
    /// Of a thing: the app's own id.
    pub key: Option<String>,
    /// Of a user or group, the title of a note; `None` for what is not shown to everybody.
    pub name: Option<String>,
    /// Of a note: the app's page about it; `None` for what is not shown to everybody.
    pub url: Option<String>,
}

impl StreamedEvent {
    /// The name of what happened.
    pub fn type_name(&self) -> &'static str {
        self.kind.map_or(EventKind::UNKNOWN, EventKind::name)
    }

    /// Of an entry of an inbox: the kind of its notification.
    pub const fn notice_name(&self) -> Option<&'static str> {
        match self.kind {
            Some(EventKind::Notice(kind)) => Some(kind.event_name()),
            _ => None,
        }
    }
}

impl EventObject {
    /// The id that clients know it by.
    pub fn id(&self) -> String {
        self.entity.to_string()
    }
}

impl EventObject {
    const fn unnamed(entity: Entity) -> Self {
        Self { entity, subject: None, key: None, name: None, url: None }
    }
}

/// Events after a cursor.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventPage {
    pub events: Vec<StreamedEvent>,
    /// There are more.
    pub has_more: bool,
    /// The cursor of the last event; without events the cursor of the request, or of the beginning.
    pub end: EventCursor,
}

/// Why events after a cursor cannot be read without missing some.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum CursorError {
    #[error("it is a cursor of another installation")]
    OtherInstallation,
    /// `kept`: a cursor before the oldest event that is kept.
    #[error(
        "it is too old: events after it were deleted, which event_retention decides; \
         what is kept begins after {kept}"
    )]
    TooOld { kept: EventCursor },
    /// `kept`: the last event before the cursor that is kept.
    #[error(
        "its event was lost by a failover of PostgreSQL: events after {kept} up to this cursor may have been lost, \
         positions {} to {lost}; undo what you did for them, and continue after {kept}", kept.position + 1
    )]
    Lost { kept: EventCursor, lost: i64 },
}

impl CursorError {
    /// A cursor to continue from.
    pub const fn kept(self) -> Option<EventCursor> {
        match self {
            Self::OtherInstallation => None,
            Self::TooOld { kept } | Self::Lost { kept, .. } => Some(kept),
        }
    }
}

/// Adds an event, which the commit writes if the stream is on. Its subject must be locked by then.
pub fn record(tx: &mut Tx, event: NewEvent) {
    if tx.db.records_events() {
        tx.events.push(event);
    }
}

/// Whether events are written.
pub const fn records_events(tx: &Tx) -> bool {
    tx.db.records_events()
}

/// All events below this position are visible to statements that begin after this one.
pub(crate) async fn event_horizon(tx: &mut Tx) -> StoreResult<i64> {
    tx.db.run(sqlx::query_scalar("SELECT event_horizon()").fetch_one(&mut *tx.inner)).await
}

/// The newest event that readers see; without any, the last one that was deleted.
pub async fn newest_event(db: &Db) -> StoreResult<EventCursor> {
    let mut tx = db.begin().await?;
    let horizon = event_horizon(&mut tx).await?;
    let text = format!(
        "SELECT {INSTALLATION} AS installation, coalesce(newest.position, stream.position),
                coalesce(newest.written_at, stream.written_at)
         FROM event_stream AS stream
         LEFT JOIN LATERAL (SELECT position, written_at FROM event WHERE position < $1
                            ORDER BY position DESC LIMIT 1) AS newest ON true"
    );
    let query = sqlx::query_as(from_catalogue(text)).bind(horizon);
    let (installation, position, written_at): (Option<i64>, i64, DateTime<Utc>) =
        db.run(query.fetch_one(&mut *tx.inner)).await?;
    Ok(cursor(installation, written_at, position))
}

/// The events after a cursor, or from the oldest one on that is kept, in order: at most `most`. None is
/// missing between the cursor and the last one that is returned, whatever commits meanwhile.
pub async fn events_after(
    db: &Db,
    after: Option<EventCursor>,
    most: usize,
) -> StoreResult<Result<EventPage, CursorError>> {
    // One connection, so that no failover comes between the two statements.
    let mut tx = db.begin().await?;
    let horizon = event_horizon(&mut tx).await?;
    let query = sqlx::query_as(from_catalogue(page_text(most + 1)))
        .bind(after.map(|after| after.position))
        .bind(horizon)
        .bind(after.map(EventCursor::time));
    let mut rows: Vec<EventRow> = db.run(query.fetch_all(&mut *tx.inner)).await?;
    let Some(first) = rows.first() else { return Err(StoreError::Unexpected("no stream".into())) };
    if let Some(error) = after.and_then(|after| first.place.refusal(after)) {
        return Ok(Err(error));
    }
    let begins = after.unwrap_or_else(|| first.place.deleted());
    rows.sort_unstable_by_key(|row| row.position);
    let mut events: Vec<StreamedEvent> = rows.into_iter().filter_map(EventRow::event).collect();
    let has_more = events.len() > most;
    events.truncate(most);
    let end = events.last().map_or(begins, |last| last.cursor);
    Ok(Ok(EventPage { events, has_more, end }))
}

/// Events after position $1, which was written at $3, and below $2, each row with what decides about the
/// cursor. One statement and so one moment: retention may delete events meanwhile. What was written after a
/// lost event is new, also at a lower position: it is not skipped.
fn page_text(rows: usize) -> String {
    format!(
        "WITH place AS MATERIALIZED (
             SELECT {INSTALLATION} AS installation,
                    stream.position AS deleted_position, stream.written_at AS deleted_written_at,
                    (SELECT written_at FROM event WHERE position = $1) AS found_written_at,
                    before.position AS kept_position, before.written_at AS kept_written_at
             FROM event_stream AS stream
             LEFT JOIN LATERAL (SELECT position, written_at FROM event WHERE position < $1 AND written_at <= $3
                                ORDER BY position DESC LIMIT 1) AS before ON true
         )
         SELECT place.*, e.position, e.written_at, e.at, e.kind, e.is_on, e.number,
                nullif(e.actor_id, 0) AS actor_id, actor.subject AS actor_subject, {actor_name} AS actor_name,
                nullif(e.target_id, 0) AS target_id, coalesce(e.subject, t_user.subject) AS target_subject,
                coalesce(t_note.key, t_comment.key, t_group.key) AS target_key,
                coalesce({user_name}, CASE WHEN t_note.is_shown THEN nullif(t_note.title, '') END,
                         CASE WHEN t_group.removed_at IS NULL THEN t_group.name END) AS target_name,
                CASE WHEN t_note.is_shown THEN t_note.url END AS target_url,
                in_note.id AS note_id, in_note.key AS note_key,
                CASE WHEN in_note.is_shown THEN nullif(in_note.title, '') END AS note_name,
                CASE WHEN in_note.is_shown THEN in_note.url END AS note_url,
                nullif(e.recipient_id, 0) AS recipient_id, recipient.subject AS recipient_subject,
                {recipient_name} AS recipient_name
         FROM place
         LEFT JOIN LATERAL (SELECT * FROM event WHERE position > coalesce($1, 0) AND position < $2
                            ORDER BY position LIMIT {rows}) AS e ON true
         LEFT JOIN app_user AS actor ON actor.id = e.actor_id
         LEFT JOIN app_user AS recipient ON recipient.id = e.recipient_id
         LEFT JOIN app_user AS t_user ON t_user.id = e.target_id AND e.kind IN ({users})
         LEFT JOIN note AS t_note ON t_note.id = e.target_id AND e.kind IN ({notes})
         LEFT JOIN comment_index AS t_comment ON t_comment.id = e.target_id AND e.kind IN ({comments})
         LEFT JOIN app_group AS t_group ON t_group.id = e.target_id AND e.kind IN ({groups})
         LEFT JOIN note AS in_note ON in_note.id = t_comment.note_id",
        actor_name = shown_name("actor"),
        user_name = shown_name("t_user"),
        recipient_name = shown_name("recipient"),
        users = numbers_about(EntityKind::User),
        notes = numbers_about(EntityKind::Note),
        comments = numbers_about(EntityKind::Comment),
        groups = numbers_about(EntityKind::Group),
    )
}

fn shown_name(user: &str) -> String {
    format!("CASE WHEN {user}.removed_at IS NULL AND {user}.hidden_at IS NULL THEN {user}.name END")
}

/// Numbers of the kinds whose targets are of this kind, as an SQL list.
pub(crate) fn numbers_about(target: EntityKind) -> String {
    let kinds = EventKind::all().filter(|kind| kind.target() == target);
    kinds.map(|kind| kind.number().to_string()).collect::<Vec<_>>().join(", ")
}

fn cursor(installation: Option<i64>, written_at: DateTime<Utc>, position: i64) -> EventCursor {
    let installation = installation.unwrap_or_default().cast_unsigned();
    EventCursor { installation, written_at: written_at.timestamp_micros(), position }
}

/// What decides about a cursor.
#[derive(FromRow)]
struct CursorState {
    installation: Option<i64>,
    /// The last event that was deleted.
    deleted_position: i64,
    deleted_written_at: DateTime<Utc>,
    /// Of the event at the cursor's position.
    found_written_at: Option<DateTime<Utc>>,
    /// The last event before the cursor.
    kept_position: Option<i64>,
    kept_written_at: Option<DateTime<Utc>>,
}

impl CursorState {
    fn cursor(&self, written_at: DateTime<Utc>, position: i64) -> EventCursor {
        cursor(self.installation, written_at, position)
    }

    /// The last event that was deleted.
    fn deleted(&self) -> EventCursor {
        self.cursor(self.deleted_written_at, self.deleted_position)
    }

    /// Why events after the cursor cannot be read.
    fn refusal(&self, after: EventCursor) -> Option<CursorError> {
        if after.installation != self.installation.unwrap_or_default().cast_unsigned() {
            return Some(CursorError::OtherInstallation);
        }
        let deleted = self.deleted();
        let found = self.found_written_at.map(|written_at| self.cursor(written_at, after.position));
        if found == Some(after) || after == deleted {
            return None;
        }
        if after.position <= deleted.position {
            return Some(CursorError::TooOld { kept: deleted });
        }
        let kept = self.kept_position.zip(self.kept_written_at);
        let kept = kept.map_or(deleted, |(position, written_at)| self.cursor(written_at, position));
        Some(CursorError::Lost { kept, lost: after.position })
    }
}

/// A row of [`page_text`]: without an event if there is none.
#[derive(FromRow)]
struct EventRow {
    #[sqlx(flatten)]
    place: CursorState,
    position: Option<i64>,
    written_at: Option<DateTime<Utc>>,
    at: Option<DateTime<Utc>>,
    kind: Option<i16>,
    is_on: Option<bool>,
    number: Option<i32>,
    actor_id: Option<Id>,
    actor_subject: Option<String>,
    actor_name: Option<String>,
    target_id: Option<Id>,
    target_subject: Option<String>,
    target_key: Option<String>,
    target_name: Option<String>,
    target_url: Option<String>,
    note_id: Option<Id>,
    note_key: Option<String>,
    note_name: Option<String>,
    note_url: Option<String>,
    recipient_id: Option<Id>,
    recipient_subject: Option<String>,
    recipient_name: Option<String>,
}

impl EventRow {
    fn event(self) -> Option<StreamedEvent> {
        let cursor = self.place.cursor(self.written_at?, self.position?);
        let kind = EventKind::from_stored(self.kind?, self.is_on?);
        let object = |kind, id: Option<Id>| Some(EventObject::unnamed(Entity::new(kind, id?)));
        let user = |id, subject, name| Some(EventObject { subject, name, ..object(EntityKind::User, id)? });
        let target = kind.and_then(|kind| object(kind.target(), self.target_id)).map(|target| EventObject {
            subject: self.target_subject,
            key: self.target_key,
            name: self.target_name,
            url: self.target_url,
            ..target
        });
        let note = object(EntityKind::Note, self.note_id).map(|note| EventObject {
            key: self.note_key,
            name: self.note_name,
            url: self.note_url,
            ..note
        });
        Some(StreamedEvent {
            cursor,
            kind,
            at: self.at?,
            number: self.number?,
            actor: user(self.actor_id, self.actor_subject, self.actor_name),
            target,
            note,
            recipient: user(self.recipient_id, self.recipient_subject, self.recipient_name),
        })
    }
}
