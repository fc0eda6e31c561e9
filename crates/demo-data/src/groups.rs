//! Groups, one per topic, with their members and notes.

use std::collections::HashMap;

use rand::{Rng, RngExt};

use super::{
    graph::DemoEdge,
    library::TOPICS,
    notes::DemoNote,
    people::Person,
    timeline::{EpochMillis, Timeline},
};

/// The shares of users who join the group of their first topic, of their second one, and of any other.
const JOINED: [f64; 3] = [0.8, 0.5, 0.03];

/// The share of notes by members that are posted in the group of their topic.
const POSTED: f64 = 0.8;

/// Notes that are featured in each group.
const FEATURED: usize = 3;

/// A group. It has the index of its topic; its owner is an index in the list of users.
#[derive(Clone, PartialEq, Debug)]
pub struct DemoGroup {
    pub owner: usize,
    pub name: &'static str,
    pub description: &'static str,
    pub founded_at: EpochMillis,
}

/// One group per topic; none without users.
pub fn groups(rng: &mut impl Rng, people: &[Person], timeline: Timeline) -> Vec<DemoGroup> {
    let mut groups = Vec::with_capacity(TOPICS.len());
    for (topic, text) in TOPICS.iter().map(|topic| &topic.group).enumerate() {
        let owner = founder(people, topic);
        let Some(person) = people.get(owner) else { break };
        let founded_at = timeline.right_after(rng, person.joined_at);
        groups.push(DemoGroup { owner, name: &text.name, description: &text.description, founded_at });
    }
    groups
}

/// The first user whose first topic this is; otherwise the first of all users.
fn founder(people: &[Person], topic: usize) -> usize {
    people.iter().position(|person| person.fame > 0.0 && person.interests[0] == topic).unwrap_or_default()
}

/// Memberships, with their times. Owners are always members.
pub fn members(
    rng: &mut impl Rng,
    people: &[Person],
    groups: &[DemoGroup],
    timeline: Timeline,
) -> Vec<DemoEdge> {
    let mut members = Vec::new();
    for (target, group) in groups.iter().enumerate() {
        for (actor, person) in people.iter().enumerate() {
            if actor == group.owner {
                members.push(DemoEdge { actor, target, since: group.founded_at });
            } else if rng.random_bool(chance_to_join(person, target)) {
                let since = timeline.soon_after(rng, person.joined_at.max(group.founded_at));
                members.push(DemoEdge { actor, target, since });
            }
        }
    }
    members
}

fn chance_to_join(person: &Person, topic: usize) -> f64 {
    if person.activity == 0.0 {
        return 0.0;
    }
    let rank = person.interests.iter().position(|interest| *interest == topic);
    JOINED[rank.unwrap_or(person.interests.len())]
}

/// Posts notes of members in the group of their topic, and features the best ones.
pub fn post(rng: &mut impl Rng, notes: &mut [DemoNote], members: &[DemoEdge], timeline: Timeline) {
    let joined: HashMap<_, _> = members.iter().map(|edge| ((edge.actor, edge.target), edge.since)).collect();
    for note in notes.iter_mut() {
        let group = note.theme.topic;
        let was_member = joined.get(&(note.author, group)).is_some_and(|since| *since <= note.written_at);
        note.group = (was_member && rng.random_bool(POSTED)).then_some(group);
    }
    for group in 0..TOPICS.len() {
        feature(rng, notes, group, timeline);
    }
}

fn feature(rng: &mut impl Rng, notes: &mut [DemoNote], group: usize, timeline: Timeline) {
    let mut best: Vec<&mut DemoNote> = notes.iter_mut().filter(|note| note.group == Some(group)).collect();
    best.sort_by(|a, b| b.appeal.total_cmp(&a.appeal));
    for note in best.into_iter().take(FEATURED) {
        note.featured_at = Some(timeline.soon_after(rng, note.written_at));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use super::*;
    use crate::{DemoData, SeedSize};

    const NOW: EpochMillis = 1_800_000_000_000;

    static DEMO: LazyLock<DemoData> =
        LazyLock::new(|| DemoData::new(SeedSize { users: 200, notes: 800 }, NOW));

    #[test]
    fn every_topic_has_a_group_whose_owner_is_its_first_member() {
        assert_eq!(DEMO.groups.len(), TOPICS.len());
        for (place, group) in DEMO.groups.iter().enumerate() {
            let members = || DEMO.members.iter().filter(|edge| edge.target == place);
            assert!(members().count() > 5);
            assert_eq!(members().min_by_key(|edge| edge.since).map(|edge| edge.actor), Some(group.owner));
        }
    }

    #[test]
    fn notes_are_in_the_group_of_their_topic_and_by_members_only() {
        let joined: HashMap<_, _> =
            DEMO.members.iter().map(|edge| ((edge.actor, edge.target), edge.since)).collect();
        let posted = DEMO.notes.iter().filter_map(|note| Some((note, note.group?)));
        for (note, group) in posted.clone() {
            assert!(group == note.theme.topic && joined[&(note.author, group)] <= note.written_at);
        }
        assert!(posted.count() > 200);
    }

    #[test]
    fn a_few_notes_are_featured_in_their_groups() {
        let featured = DEMO.notes.iter().filter(|note| note.featured_at.is_some());
        assert!(
            featured.clone().all(|note| note.group.is_some() && note.featured_at >= Some(note.written_at))
        );
        assert!((TOPICS.len()..=FEATURED * TOPICS.len()).contains(&featured.count()));
    }
}
