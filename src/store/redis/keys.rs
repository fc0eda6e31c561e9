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
pub struct Key {
    pub shard: ShardId,
    pub name: String,
}

impl Key {
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

impl ToRedisArgs for Key {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        out.write_arg(self.name.as_bytes());
    }
}

impl ToSingleRedisArg for Key {}

pub fn meta(shard: ShardId) -> Key {
    Key::new(shard, "meta")
}

pub fn log(shard: ShardId) -> Key {
    Key::new(shard, "log")
}

pub fn changes(shard: ShardId) -> Key {
    Key::new(shard, "changes")
}

pub fn counters(shard: ShardId, entity: Entity) -> Key {
    Key::new(shard, format_args!("c:{entity}"))
}

/// Pattern of all counters of a shard.
pub fn all_counters(shard: ShardId) -> Key {
    Key::new(shard, format_args!("c:*"))
}

pub fn pending(shard: ShardId, actor: UserId) -> Key {
    Key::new(shard, format_args!("p:{actor}"))
}

/// Pattern of all pending flips of a shard.
pub fn all_pending(shard: ShardId) -> Key {
    Key::new(shard, format_args!("p:*"))
}

pub fn edges(shard: ShardId, kind: EdgeKind, actor: UserId) -> Key {
    Key::new(shard, format_args!("e:{}:{actor}", kind.name()))
}

pub fn floor(shard: ShardId, kind: EdgeKind, actor: UserId) -> Key {
    Key::new(shard, format_args!("fl:{}:{actor}", kind.name()))
}

/// Newest edges of an actor.
pub fn newest(shard: ShardId, kind: EdgeKind, actor: UserId) -> Key {
    Key::new(shard, format_args!("nw:{}:{actor}", kind.name()))
}

pub fn idempotency(shard: ShardId, actor: UserId, key: &str) -> Key {
    Key::new(shard, format_args!("idem:{actor}:{key}"))
}

/// Actor and key in the name of an idempotency key.
pub fn parts_of_idempotency(shard: ShardId, name: &str) -> Option<(UserId, &str)> {
    let (actor, key) = name.strip_prefix(&prefix(shard))?.strip_prefix(":idem:")?.split_once(':')?;
    Some((UserId(actor.parse().ok()?), key))
}

/// Number of the last views that a process appended.
pub fn last_views(shard: ShardId, sender: impl Display) -> Key {
    Key::new(shard, format_args!("views:{sender}"))
}

/// An entry of the entity cache without texts: `note_42`, `subject:…` or `key:…`.
pub fn cached_entity(shard: ShardId, of: impl Display) -> Key {
    Key::new(shard, format_args!("ec:{of}"))
}

/// The same with its texts.
pub fn cached_text(shard: ShardId, of: impl Display) -> Key {
    Key::new(shard, format_args!("et:{of}"))
}

/// Bytes of the shard's texts.
pub fn text_bytes(shard: ShardId) -> Key {
    Key::new(shard, "text-bytes")
}

/// Heat of the shard's notes in one bucket of time.
pub fn heat(shard: ShardId, bucket: Bucket) -> Key {
    Key::new(shard, format_args!("hot:{}:{}", bucket.span.name(), bucket.number))
}

/// Up to when the heat of the shard's notes is built.
pub fn heat_built(shard: ShardId) -> Key {
    Key::new(shard, format_args!("hot:built"))
}

/// Temporary key in which a span's buckets are merged.
pub fn heat_merged(shard: ShardId, span: Span) -> Key {
    Key::new(shard, format_args!("hot:{}:merged", span.name()))
}

/// The current ranking of a window.
pub fn ranking(layout: Layout, window: HotWindow) -> Key {
    Key::new(of_rankings(layout), format_args!("hot:ranking:{}", window.name()))
}

/// A snapshot of a ranking, for later pages.
pub fn ranking_snapshot(layout: Layout, window: HotWindow, id: impl Display) -> Key {
    Key::new(of_rankings(layout), format_args!("hot:ranking:{}:{id}", window.name()))
}

/// Shows that a pipeline process uses this Redis. On the first shard, and the same in all layouts.
pub fn process(owner: impl Display) -> Key {
    Key::new(ShardId::first(0), format_args!("process:{owner}"))
}

/// Requests of one user or address in one window.
pub fn rates(shard: ShardId, asker: impl Display, window: u64) -> Key {
    Key::new(shard, format_args!("rate:{asker}:{window}"))
}

/// Field of a flip in the pending hash.
pub fn pending_field(kind: EdgeKind, target: impl Display) -> String {
    format!("{}:{target}", kind.name())
}
