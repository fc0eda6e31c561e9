//! Names of keys. All keys of a shard share its [hash tag](super::tags), so that one script may touch
//! them. Keys of entities and actors are short, like the fields in their hashes, because there are millions of
//! them; the fields of `meta` are spelled out.

use std::fmt::{Display, Write};

use redis::{RedisWrite, ToRedisArgs, ToSingleRedisArg};

use super::tags;
use plaudit_catalogue::{
    Bucket, EdgeKind, Entity, HotWindow, Span,
    primitives::{Layout, ShardId, UserId},
};

/// Rankings cover all shards and are stored on the first one.
const fn of_rankings(layout: Layout) -> ShardId {
    ShardId(0, layout)
}

/// A key and the shard whose node has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RedisKey {
    pub shard: ShardId,
    pub name: String,
}

impl RedisKey {
    fn new(shard: ShardId, rest: impl Display) -> Self {
        let mut name = prefix(shard);
        let _ = write!(name, ":{rest}"); // a String takes everything
        Self { shard, name }
    }
}

/// Bytes of most names.
const COMMON: usize = 32;

/// What the names of all keys of a shard begin with: its tag, and its layout unless that is the first one.
pub fn prefix(shard: ShardId) -> String {
    let mut prefix = String::with_capacity(COMMON);
    prefix.extend(["{", tags::of(shard), "}"]);
    if shard.1 != Layout::FIRST {
        let _ = write!(prefix, ".{}", shard.1.0); // a String takes everything
    }
    prefix
}

impl ToRedisArgs for RedisKey {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        out.write_arg(self.name.as_bytes());
    }
}

impl ToSingleRedisArg for RedisKey {}

/// Hash: the state of a shard; `docs/internals/keys-and-tables.md` has its fields. Never expires.
pub fn meta(shard: ShardId) -> RedisKey {
    RedisKey::new(shard, "meta")
}

/// Stream: field `e` of each entry is an event (`src/catalogue/event_log/mod.rs`) or `genesis`. Trimmed.
pub fn log(shard: ShardId) -> RedisKey {
    RedisKey::new(shard, "log")
}

/// Channel: messages in the format of `lua/lib/changes.lua`.
pub fn changes(shard: ShardId) -> RedisKey {
    RedisKey::new(shard, "changes")
}

/// Hash: the counters by name, `v` (change number), `epoch`, and `load` while they are loaded. Expires 26 hours and
/// up to a sixth more after somebody asked for it, and 5 s after a load began that has not ended.
pub fn counters(shard: ShardId, entity: Entity) -> RedisKey {
    RedisKey::new(shard, format_args!("c:{entity}"))
}

/// Pattern of all counters of a shard.
pub fn all_counters(shard: ShardId) -> RedisKey {
    RedisKey::new(shard, format_args!("c:*"))
}

/// Hash: the actor's pending flips, `kind:target` → `1:offset:ms` (on) or `0:offset:ms` (off). A flip is deleted when
/// it is retired.
pub fn pending(shard: ShardId, actor: UserId) -> RedisKey {
    RedisKey::new(shard, format_args!("p:{actor}"))
}

/// Pattern of all pending flips of a shard.
pub fn all_pending(shard: ShardId) -> RedisKey {
    RedisKey::new(shard, format_args!("p:*"))
}

/// Set: the cached set of an actor's targets, and a marker, −2·generation if it is complete, one less if it is
/// truncated. Expires after 7 days and up to a sixth more.
pub fn edges(shard: ShardId, kind: EdgeKind, actor: UserId) -> RedisKey {
    RedisKey::new(shard, format_args!("e:{}:{actor}", kind.name()))
}

/// String: the lowest target id of a truncated set. Expires with its set.
pub fn floor(shard: ShardId, kind: EdgeKind, actor: UserId) -> RedisKey {
    RedisKey::new(shard, format_args!("fl:{}:{actor}", kind.name()))
}

/// Sorted set: the actor's newest likes or collects of notes by time, and a marker. Expires 26 hours after it was
/// read from PostgreSQL.
pub fn newest(shard: ShardId, kind: EdgeKind, actor: UserId) -> RedisKey {
    RedisKey::new(shard, format_args!("nw:{}:{actor}", kind.name()))
}

/// String: result, offset (`-` for none) and operation of an idempotency key. Expires after 24 hours, or after 10
/// minutes if the action changed nothing.
pub fn idempotency(shard: ShardId, actor: UserId, key: &str) -> RedisKey {
    RedisKey::new(shard, format_args!("idem:{actor}:{key}"))
}

/// Actor and key in the name of an idempotency key.
pub fn parts_of_idempotency(shard: ShardId, name: &str) -> Option<(UserId, &str)> {
    let (actor, key) = name.strip_prefix(&prefix(shard))?.strip_prefix(":idem:")?.split_once(':')?;
    Some((UserId(actor.parse().ok()?), key))
}

/// String: number of the last bundle of views that a process appended. Expires after 24 hours.
pub fn last_views(shard: ShardId, sender: impl Display) -> RedisKey {
    RedisKey::new(shard, format_args!("views:{sender}"))
}

/// String: an entry of the entity cache without texts: timeline, until when it is fresh and kept, and JSON, or `null`
/// for what is gone; or the mark `changed <epoch>-<change>`. `of` is `note_42`, `subject:…` with the SHA-256 of a
/// subject, so that an erasure leaves no subject, or `key:…` with an app key. Expires 26 hours after somebody asked
/// for it; `null` after 10 s, a mark after 5 s.
pub fn cached_entity(shard: ShardId, of: impl Display) -> RedisKey {
    RedisKey::new(shard, format_args!("ec:{of}"))
}

/// String: the slice of time in which it ends, and the same with texts as JSON. Expires with the entry.
pub fn cached_text(shard: ShardId, of: impl Display) -> RedisKey {
    RedisKey::new(shard, format_args!("et:{of}"))
}

/// Hash: bytes of the shard's texts by slice of time. Never expires.
pub fn text_bytes(shard: ShardId) -> RedisKey {
    RedisKey::new(shard, "text-bytes")
}

/// Sorted set: heat of the shard's notes in one bucket of time. Expires one bucket after its span.
pub fn heat(shard: ShardId, bucket: Bucket) -> RedisKey {
    RedisKey::new(shard, format_args!("hot:{}:{}", bucket.span.name(), bucket.number))
}

/// String: the ms up to which heat includes `activity`; complete when it equals the field `hot` of [`meta`]. Never
/// expires.
pub fn heat_built(shard: ShardId) -> RedisKey {
    RedisKey::new(shard, format_args!("hot:built"))
}

/// Temporary key in which a span's buckets are merged.
pub fn heat_merged(shard: ShardId, span: Span) -> RedisKey {
    RedisKey::new(shard, format_args!("hot:{}:merged", span.name()))
}

/// String: the current ranking of a window as JSON. Expires after 24 hours.
pub fn ranking(layout: Layout, window: HotWindow) -> RedisKey {
    RedisKey::new(of_rankings(layout), format_args!("hot:ranking:{}", window.name()))
}

/// String: a ranking for later pages. Expires after 10 minutes.
pub fn ranking_snapshot(layout: Layout, window: HotWindow, id: impl Display) -> RedisKey {
    RedisKey::new(of_rankings(layout), format_args!("hot:ranking:{}:{id}", window.name()))
}

/// String: shows that a pipeline process uses this Redis. On the first shard, and the same in all layouts. Written
/// before the process's row in `pipeline_process`; expires after `lease`.
pub fn process(owner: impl Display) -> RedisKey {
    RedisKey::new(ShardId::first(0), format_args!("process:{owner}"))
}

/// Hash: requests of one user or address in one window: `r`, `w` and `c`. Expires after two windows.
pub fn rates(shard: ShardId, asker: impl Display, window: u64) -> RedisKey {
    RedisKey::new(shard, format_args!("rate:{asker}:{window}"))
}

/// Field of a flip in the pending hash.
pub fn pending_field(kind: EdgeKind, target: impl Display) -> String {
    format!("{}:{target}", kind.name())
}
