//! Hash tags of the shards. Redis Cluster gives a key to a node by the slot of its hash tag, and each node a range of
//! slots. The tags of the shards are chosen so that their slots lie evenly among all slots, and so among any number of
//! nodes with ranges of the same size.
//!
//! The slots follow the van der Corput sequence (J. G. van der Corput, "Verteilungsfunktionen", 1935): of its
//! first 2^k points, one lies in each part of 1/2^k. A shard's tag does not depend on the number of shards.

use std::sync::OnceLock;

use crc::{CRC_16_XMODEM, Crc};

use plaudit_catalogue::primitives::{ShardCount, ShardId};

/// Slots of a Redis Cluster.
pub const SLOTS: u16 = 16_384;

/// Least distance of two shards' slots, with the most shards.
const DISTANCE: u16 = SLOTS / ShardCount::MAX;

/// Hash of slots, by the [cluster
/// specification](https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/).
const HASH: Crc<u16> = Crc::<u16>::new(&CRC_16_XMODEM);

/// By shard: the tag, once it was looked for.
static TAGS: [OnceLock<String>; ShardCount::MAX as usize] =
    [const { OnceLock::new() }; ShardCount::MAX as usize];

/// A shard's tag: its number, and letters that give it the slot.
pub fn of(shard: ShardId) -> &'static str {
    TAGS[shard.index()].get_or_init(|| find(shard))
}

/// The slot of a shard's keys.
pub fn slot(shard: ShardId) -> u16 {
    slot_of(of(shard))
}

fn slot_of(tag: &str) -> u16 {
    HASH.checksum(tag.as_bytes()) % SLOTS
}

/// The first letters, in alphabetical order, by which the slot lies shortly after the shard's point.
fn find(shard: ShardId) -> String {
    let point = shard.0.reverse_bits() / (u16::MAX / SLOTS + 1);
    let near = point..point + DISTANCE / 2;
    let letters = (1..=4).flat_map(words);
    let mut tags = letters.map(|letters| format!("{shard}{letters}"));
    tags.find(|tag| near.contains(&slot_of(tag))).unwrap_or_else(|| shard.to_string())
}

/// All words of some letters, in alphabetical order.
fn words(letters: u32) -> impl Iterator<Item = String> {
    (0..26_u32.pow(letters)).map(move |number| {
        let letter = |place| char::from(b'a' + (number / 26_u32.pow(place) % 26) as u8);
        (0..letters).rev().map(letter).collect()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn slots_are_those_of_redis() {
        // From the cluster specification, and from CLUSTER KEYSLOT.
        assert_eq!(HASH.checksum(b"123456789"), 0x31C3);
        assert_eq!(slot_of("foo"), 12_182);
    }

    #[test]
    fn on_any_number_of_nodes_each_has_as_many_shards_as_the_others_or_one_more() {
        for shards in [1, 2, 4, 8, 16, 32, 64, 128] {
            for nodes in 1..=shards {
                let mut on = vec![0; usize::from(nodes)];
                for shard in 0..shards {
                    on[usize::from(slot(ShardId::first(shard))) * usize::from(nodes) / usize::from(SLOTS)] +=
                        1;
                }
                let (least, most) = (on.iter().min().unwrap(), on.iter().max().unwrap());
                assert!(most - least <= 1, "{shards} shards on {nodes} nodes: {on:?}");
            }
        }
    }

    #[test]
    fn each_shard_has_a_tag_of_its_own_with_its_number() {
        let tags: BTreeSet<&str> = (0..256).map(|shard| of(ShardId::first(shard))).collect();
        assert_eq!(tags.len(), 256);
        for shard in 0..256 {
            let tag = of(ShardId::first(shard));
            assert_eq!(tag.trim_end_matches(char::is_alphabetic), shard.to_string());
            assert!(tag.len() > shard.to_string().len(), "shard {shard}: no letters were found");
        }
    }
}
