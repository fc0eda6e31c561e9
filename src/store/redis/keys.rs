//! Names of keys. All keys of a shard share its hash tag, so that one script may touch them. Keys of entities and
//! actors are short, like the fields in their hashes, because there are millions of them; the fields of `meta` are
//! spelled out.

use std::fmt::Display;

use crate::{
    catalogue::{Bucket, EdgeKind, Entity, HotWindow, Span},
    primitives::{ShardId, UserId},
};

/// Rankings cover all shards and are stored on the first one.
const RANKINGS: &str = "{0}";

pub fn meta(shard: ShardId) -> String {
    format!("{{{shard}}}:meta")
}

pub fn log(shard: ShardId) -> String {
    format!("{{{shard}}}:log")
}

pub fn changes(shard: ShardId) -> String {
    format!("{{{shard}}}:changes")
}

pub fn counters(shard: ShardId, entity: Entity) -> String {
    format!("{{{shard}}}:c:{entity}")
}

/// Pattern of all counters of a shard.
pub fn all_counters(shard: ShardId) -> String {
    format!("{{{shard}}}:c:*")
}

pub fn pending(shard: ShardId, actor: UserId) -> String {
    format!("{{{shard}}}:p:{actor}")
}

/// Pattern of all pending flips of a shard.
pub fn all_pending(shard: ShardId) -> String {
    format!("{{{shard}}}:p:*")
}

pub fn edges(shard: ShardId, kind: EdgeKind, actor: UserId) -> String {
    format!("{{{shard}}}:e:{}:{actor}", kind.name())
}

pub fn floor(shard: ShardId, kind: EdgeKind, actor: UserId) -> String {
    format!("{{{shard}}}:fl:{}:{actor}", kind.name())
}

pub fn idempotency(shard: ShardId, actor: UserId, key: &str) -> String {
    format!("{{{shard}}}:idem:{actor}:{key}")
}

/// Number of the last views that a process appended.
pub fn last_views(shard: ShardId, sender: impl Display) -> String {
    format!("{{{shard}}}:views:{sender}")
}

/// An entry of the entity cache: `note_42`, or `subject:…`.
pub fn cached_entity(shard: ShardId, of: impl Display) -> String {
    format!("{{{shard}}}:ec:{of}")
}

/// Heat of the shard's notes in one bucket of time.
pub fn heat(shard: ShardId, bucket: Bucket) -> String {
    format!("{{{shard}}}:hot:{}:{}", bucket.span.name(), bucket.number)
}

/// Up to when the heat of the shard's notes is built.
pub fn heat_built(shard: ShardId) -> String {
    format!("{{{shard}}}:hot:built")
}

/// Temporary key in which a span's buckets are merged.
pub fn heat_merged(shard: ShardId, span: Span) -> String {
    format!("{{{shard}}}:hot:{}:merged", span.name())
}

/// The current ranking of a window.
pub fn ranking(window: HotWindow) -> String {
    format!("{RANKINGS}:hot:ranking:{}", window.name())
}

/// A snapshot of a ranking, for later pages.
pub fn ranking_snapshot(window: HotWindow, id: impl Display) -> String {
    format!("{}:{id}", ranking(window))
}

/// Requests of one user or address in one window.
pub fn rates(shard: ShardId, asker: impl Display, window: u64) -> String {
    format!("{{{shard}}}:rate:{asker}:{window}")
}

/// Field of a flip in the pending hash.
pub fn pending_field(kind: EdgeKind, target: impl Display) -> String {
    format!("{}:{target}", kind.name())
}
