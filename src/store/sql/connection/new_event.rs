//! Events of the stream, as a transaction collects and writes them.

use sqlx::PgConnection;

use crate::{
    StoreResult,
    sql::{Db, times::timestamp},
};
use plaudit_catalogue::{
    EventKind, UnixMillis,
    primitives::{Id, UserId},
};

/// Increment of the sequence `event_position`: each statement reserves a block of this many positions.
const EVENTS_AT_ONCE: usize = 10_000;

/// An event to write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewEvent {
    pub kind: EventKind,
    pub at: UnixMillis,
    /// `None` if nobody did it.
    pub actor: Option<UserId>,
    pub target: Id,
    /// Whose inbox it is, of a notice.
    pub recipient: Option<UserId>,
    /// How many events a notice stands for; 1 for others.
    pub number: i32,
    /// Of an erasure.
    pub subject: Option<String>,
}

impl NewEvent {
    /// Something that `actor` does now.
    pub fn now(kind: EventKind, actor: Option<UserId>, target: Id) -> Self {
        let at = plaudit_catalogue::primitives::now();
        Self { kind, at, actor, target, recipient: None, number: 1, subject: None }
    }

    /// An entry of an inbox.
    pub fn with_recipient(self, recipient: UserId) -> Self {
        Self { recipient: Some(recipient), ..self }
    }
}

/// Writes the events, at positions that are taken now, under all locks of the transaction of
/// this connection.
pub(crate) async fn write_events(
    db: &Db,
    connection: &mut PgConnection,
    events: &[NewEvent],
) -> StoreResult<()> {
    for page in events.chunks(EVENTS_AT_ONCE) {
        write_page(db, connection, page).await?;
    }
    Ok(())
}

async fn write_page(db: &Db, connection: &mut PgConnection, page: &[NewEvent]) -> StoreResult<()> {
    let user = |user: Option<UserId>| user.map_or(0, UserId::get);
    let query = sqlx::query(concat!(
        "INSERT INTO event (position, at, actor_id, target_id, recipient_id, number, kind, is_on, subject)
         SELECT block.first + place - 1, ",
        timestamp!("at"),
        ", actor, target, recipient, number, kind, is_on, subject
         FROM (SELECT take_event_block() AS first OFFSET 0) AS block
         CROSS JOIN unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::integer[], $6::smallint[],
                           $7::boolean[], $8::text[]) WITH ORDINALITY
                 AS event (at, actor, target, recipient, number, kind, is_on, subject, place)"
    ))
    .bind(page.iter().map(|event| event.at).collect::<Vec<_>>())
    .bind(page.iter().map(|event| user(event.actor)).collect::<Vec<_>>())
    .bind(page.iter().map(|event| event.target.get()).collect::<Vec<_>>())
    .bind(page.iter().map(|event| user(event.recipient)).collect::<Vec<_>>())
    .bind(page.iter().map(|event| event.number).collect::<Vec<_>>())
    .bind(page.iter().map(|event| event.kind.number()).collect::<Vec<_>>())
    .bind(page.iter().map(|event| event.kind.is_on()).collect::<Vec<_>>())
    .bind(page.iter().map(|event| event.subject.as_deref()).collect::<Vec<_>>());
    db.run(query.execute(connection)).await.map(drop)
}
