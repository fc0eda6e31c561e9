//! Names of keys in Redis.

use std::fmt::Display;

/// Hash tags of the first shards: docs/internals/keys-and-tables.md says how they are chosen.
const TAGS: [&str; 16] = [
    "0als", "1bvh", "2box", "3auc", "4bza", "5eux", "6ayj", "7bcq", "8jb", "9vk", "10cvp", "11gw", "12dyv",
    "13tu", "14ws", "15kz",
];

/// A key of a shard.
pub fn key(shard: impl TryInto<usize>, rest: impl Display) -> String {
    let shard = shard.try_into().unwrap_or_else(|_| panic!("a shard's number is needed"));
    format!("{{{}}}:{rest}", TAGS[shard])
}
