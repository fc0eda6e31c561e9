//! Script `flip_edge`: switches an edge on or off, atomically with the event in the log.

use std::time::Duration;

use super::sets::SET_LIMIT;
use crate::{
    KEY_LIFE, StoreResult, UNCHANGED_KEY_LIFE,
    redis::{
        Redis, keys,
        members::waiting::{self, ACTIONS_WAIT},
        reply::{Reply, parse},
        results::FlipEdgeResult,
        scripts,
    },
    tally,
};
use plaudit_catalogue::{
    Flip,
    event_log::Event,
    primitives::{
        Offset,
        fault::{self, Point},
    },
};

/// A flip to make, and the caller's knowledge of the edge.
pub struct FlipRequest<'a> {
    pub flip: Flip,
    /// The most edges of this kind that the actor may have on; 0 for no limit.
    pub limit: u32,
    /// State of the edge in PostgreSQL, if it was read.
    pub row: Option<EdgeRow>,
    pub idempotency_key: Option<&'a str>,
    /// Append an event also if an edge is switched off that is off.
    pub records_off: bool,
    /// New time to live of the actor's cached set.
    pub renew: Option<Duration>,
}

/// State of one edge in PostgreSQL, and how far the shard's log was persisted when it was read.
#[derive(Clone, Copy, Debug)]
pub struct EdgeRow {
    pub is_on: bool,
    pub persisted: Offset,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FlipOutcome {
    /// `at`: the event of this flip; the edge's pending event if nothing changed.
    Done {
        changed: bool,
        at: Option<Offset>,
        /// The idempotency key was used before, and this is the first result.
        is_repeated: bool,
        /// The event is in the append-only file, on disk.
        is_on_disk: bool,
        /// The replication id of the Redis that says so. An offset is an event's in one replication id only.
        replication_id: String,
    },
    /// Load the actor's set, then try again.
    NeedsSet,
    /// Read this edge from PostgreSQL, then try again.
    NeedsRow,
    LimitReached,
    /// The idempotency key belongs to another operation or target.
    KeyConflict,
}

/// Atomic: after a connection error either all of it happened or nothing. Repeating it is safe in both
/// cases. Waits up to [`ACTIONS_WAIT`] for a shard that is not ready.
pub async fn flip_edge(redis: &Redis, request: &FlipRequest<'_>) -> StoreResult<FlipOutcome> {
    let shard = redis.shard_of(request.flip.actor.0);
    waiting::when_ready(redis, shard, ACTIONS_WAIT, || flip_edge_once(redis, request)).await
}

async fn flip_edge_once(redis: &Redis, request: &FlipRequest<'_>) -> StoreResult<FlipOutcome> {
    let flip = &request.flip;
    let shard = redis.shard_of(flip.actor.0);
    let mut touched = vec![
        keys::meta(shard),
        keys::log(shard),
        keys::pending(shard, flip.actor),
        keys::edges(shard, flip.kind, flip.actor),
        keys::floor(shard, flip.kind, flip.actor),
    ];
    touched.extend(request.idempotency_key.map(|key| keys::idempotency(shard, flip.actor, key)));

    let mut cmd = scripts::FLIP_EDGE.call(&touched);
    cmd.arg(flip.kind.name())
        .arg(flip.target.get())
        .arg(i32::from(flip.on))
        .arg(Event::Flip(*flip).to_string())
        .arg(request.limit);
    match request.row {
        Some(row) => cmd.arg(i32::from(row.is_on)).arg(row.persisted.to_string()),
        None => cmd.arg("").arg(""),
    };
    cmd.arg(request.renew.map_or(0, |life| life.as_millis() as u64))
        .arg(format!("{}:{} {}", flip.kind.name(), flip.target, if flip.on { "on" } else { "off" }))
        .arg(KEY_LIFE.as_millis() as u64)
        .arg(flip.at)
        .arg(SET_LIMIT)
        .arg(UNCHANGED_KEY_LIFE.as_millis() as u64)
        .arg(if request.records_off && !flip.on {
            Event::OffAgain(*flip).to_string()
        } else {
            String::new()
        });

    fault::reached(Point::BeforeAction)?;
    let (reply, is_on_disk) = redis.command_on_disk(&cmd).await?;
    let mut reply = Reply::read(reply)?;
    fault::reached(Point::AfterAction)?;
    match reply.result()? {
        result @ (FlipEdgeResult::Done | FlipEdgeResult::Repeated) => {
            let is_repeated = result == FlipEdgeResult::Repeated;
            let changed: bool = reply.next()?;
            let at: String = reply.next()?;
            let at = if at.is_empty() { None } else { Some(parse(&at)?) };
            let replication_id = reply.next()?;
            if let (true, false, Some(at)) = (changed, is_repeated, at) {
                tally::event_at(shard, at);
            }
            Ok(FlipOutcome::Done { changed, at, is_repeated, is_on_disk, replication_id })
        }
        FlipEdgeResult::NeedSet => Ok(FlipOutcome::NeedsSet),
        FlipEdgeResult::NeedRow => Ok(FlipOutcome::NeedsRow),
        FlipEdgeResult::Limit => Ok(FlipOutcome::LimitReached),
        FlipEdgeResult::KeyConflict => Ok(FlipOutcome::KeyConflict),
    }
}
