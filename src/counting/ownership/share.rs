//! The share of a process: with N shards and P processes each leads N / P of them, rounded up for the first
//! processes by name and down for the others, so that shares add up to N.
//!
//! A process takes what is free, up to its share, and gives up what it has above it: another then has less than
//! its own. Processes may count each other at different moments and so disagree for a while about shares;
//! leases decide who owns a shard. `tests/model/src/sharing.rs` explores both.

use std::collections::BTreeSet;

use plaudit_catalogue::primitives::{ShardCount, ShardId};
use plaudit_store::sql::ownership::sharing::{LeaseState, Sharing};

/// What a process does next.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShareDecision {
    /// Free shards to take.
    pub take: Vec<ShardId>,
    /// Shards to release.
    pub give: Vec<ShardId>,
}

/// `held`: the shards that this process leads or is about to lead. `leaving`: those that it is about to release.
pub fn decide(
    own: &str,
    shards: ShardCount,
    sharing: &Sharing,
    held: &BTreeSet<ShardId>,
    leaving: &BTreeSet<ShardId>,
) -> ShareDecision {
    debug_assert!(held.is_disjoint(leaving), "a shard that is given up is not held");
    let share = share_of(own, sharing);
    let free: Vec<ShardId> = free_shards(own, shards, sharing)
        .into_iter()
        .filter(|shard| !held.contains(shard) && !leaving.contains(shard))
        .collect();
    if held.len() < share {
        let first = share * rank_of(own, sharing);
        // Others that take at the same time begin elsewhere.
        let (before, after): (Vec<_>, Vec<_>) = free.iter().partition(|shard| shard.index() < first);
        return ShareDecision {
            take: after.into_iter().chain(before).take(share - held.len()).collect(),
            give: Vec::new(),
        };
    }
    let surplus = held.len() - share;
    ShareDecision { take: Vec::new(), give: held.iter().rev().take(surplus).copied().collect() }
}

fn rank_of(member: &str, sharing: &Sharing) -> usize {
    sharing.members.iter().take_while(|other| *other != member).count()
}

fn share_of(member: &str, sharing: &Sharing) -> usize {
    let (shards, members) = (sharing.leases.len(), sharing.members.len().max(1));
    shards / members + usize::from(rank_of(member, sharing) < shards % members)
}

/// What this process may take. Expired leases only if the others have counted it for a while: after an
/// outage all leases have expired, and their owners return one after another.
fn free_shards(own: &str, shards: ShardCount, sharing: &Sharing) -> Vec<ShardId> {
    let may_take = |lease: &LeaseState| match lease {
        LeaseState::Free => true,
        LeaseState::Expired => sharing.was_member,
        LeaseState::Owned(owner) => owner == own,
    };
    let free = (0..).zip(&sharing.leases).filter(|(_, lease)| may_take(lease));
    free.map(|(number, _)| shards.shard(number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Members `a`, `b` and so on; a letter per shard, `.` for a free one, `!` for an expired one.
    fn sharing(members: &str, leases: &str) -> Sharing {
        let lease = |owner: char| match owner {
            '.' => LeaseState::Free,
            '!' => LeaseState::Expired,
            owner => LeaseState::Owned(owner.to_string()),
        };
        Sharing {
            was_member: true,
            members: members.chars().map(String::from).collect(),
            leases: leases.chars().map(lease).collect(),
        }
    }

    fn decide_for(own: &str, sharing: &Sharing) -> (Vec<u16>, Vec<u16>) {
        let is_own = |lease: &LeaseState| matches!(lease, LeaseState::Owned(owner) if owner == own);
        let held = (0..).zip(&sharing.leases).filter(|(_, lease)| is_own(lease));
        let held = held.map(|(number, _)| ShardId::first(number)).collect();
        let shards = ShardCount::new(sharing.leases.len() as u16).unwrap();
        let ShareDecision { take, give } = decide(own, shards, sharing, &held, &BTreeSet::new());
        let numbers = |shards: Vec<ShardId>| shards.into_iter().map(|shard| shard.0).collect();
        (numbers(take), numbers(give))
    }

    #[test]
    fn shares_differ_by_one_at_most_and_add_up() {
        let three = sharing("abc", "................");
        assert_eq!(["a", "b", "c"].map(|member| share_of(member, &three)), [6, 5, 5]);
        let many = sharing("abcde", "...");
        assert_eq!(["a", "b", "c", "d", "e"].map(|member| share_of(member, &many)), [1, 1, 1, 0, 0]);
    }

    #[test]
    fn a_process_alone_takes_everything_and_gives_up_half_to_a_second_one() {
        assert_eq!(decide_for("a", &sharing("a", "....")).0, [0, 1, 2, 3]);
        let second_came = sharing("ab", "aaaa");
        assert_eq!(decide_for("a", &second_came), (vec![], vec![3, 2]));
        assert_eq!(decide_for("b", &second_came), (vec![], vec![]));
        assert_eq!(decide_for("b", &sharing("ab", "aa..")), (vec![2, 3], vec![]));
    }

    #[test]
    fn nothing_is_given_up_below_the_share() {
        assert_eq!(decide_for("a", &sharing("ab", "aaa...")), (vec![], vec![]));
        assert_eq!(decide_for("a", &sharing("ab", "aaaa..")), (vec![], vec![3]));
    }

    #[test]
    fn what_has_expired_is_taken_by_those_who_were_there_before() {
        let expired = sharing("ab", "aa!!");
        assert_eq!(decide_for("b", &expired).0, [2, 3]);
        assert_eq!(decide_for("b", &Sharing { was_member: false, ..expired }).0, [0; 0]);
    }
}
