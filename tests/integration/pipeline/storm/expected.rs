//! The counts that a plain model expects after a storm, and the counts that clients get.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::world::{COMMENTS, Done, World};
use crate::support::Client;

/// Counts per object and field.
pub type Numbers = BTreeMap<(String, &'static str), i64>;

/// The expected counts.
pub fn expected(
    world: &World,
    done: &[Done],
    hidden: &BTreeSet<String>,
    coins: &BTreeMap<String, i64>,
) -> Numbers {
    let mut numbers = Numbers::new();
    let removed: BTreeSet<&String> = done.iter().flat_map(|done| &done.removed).collect();
    let present: Vec<_> = world.notes.iter().filter(|(id, ..)| !removed.contains(id)).collect();
    for (_, id) in &world.users {
        for field in [
            "followerCount",
            "followingCount",
            "noteCount",
            "commentCount",
            "likesReceivedCount",
            "collectsReceivedCount",
            "groupCount",
        ] {
            numbers.insert((id.clone(), field), 0);
        }
        numbers.insert((id.clone(), "coinCount"), coins.get(id).copied().unwrap_or(0));
    }
    for (id, ..) in &present {
        for field in ["likeCount", "collectCount"] {
            numbers.insert((id.clone(), field), 0);
        }
        let views = done.iter().filter_map(|done| done.views.get(id)).sum();
        numbers.insert((id.clone(), "viewCount"), views);
        let ratings = done.iter().filter(|done| done.ratings.contains_key(id));
        numbers.insert((id.clone(), "ratingCount"), ratings.count() as i64);
        let first = world.notes.iter().position(|(other, ..)| other == id).filter(|i| *i < COMMENTS);
        numbers.insert((id.clone(), "commentCount"), i64::from(first.is_some()));
    }
    for id in &world.groups {
        numbers.insert((id.clone(), "memberCount"), 0);
        let notes =
            done.iter().flat_map(|done| done.notes.values()).filter(|group| group.as_ref() == Some(id));
        numbers.insert((id.clone(), "noteCount"), notes.count() as i64);
    }
    let comment_exists = |i: usize| !removed.contains(&world.notes[i].0);
    for (i, id) in world.comments.iter().enumerate().filter(|(i, _)| comment_exists(*i)) {
        numbers.insert((id.clone(), "likeCount"), 0);
        numbers.insert((id.clone(), "replyCount"), 0);
        *numbers.get_mut(&(world.users[i].1.clone(), "commentCount")).unwrap() += 1;
    }
    for (actor, done) in done.iter().enumerate() {
        let me = &world.users[actor].1;
        *numbers.get_mut(&(me.clone(), "noteCount")).unwrap() += done.notes.len() as i64;
        for (note, parent) in done.comments.values().filter(|(note, _)| !removed.contains(note)) {
            for (id, field) in [(me, "commentCount"), (note, "commentCount")] {
                *numbers.get_mut(&(id.clone(), field)).unwrap() += 1;
            }
            if let Some(parent) = parent {
                *numbers.get_mut(&(parent.clone(), "replyCount")).unwrap() += 1;
            }
        }
        let switched_on = done.edges.iter().filter(|(_, on)| **on && !hidden.contains(me));
        for ((kind, target), _) in switched_on {
            let author = |notes: &[(String, usize, Option<String>)]| {
                let (_, author, _) = notes.iter().find(|(id, ..)| id == target).unwrap();
                world.users[*author].1.clone()
            };
            let moved = match kind {
                0 => vec![(target.clone(), "likeCount"), (author(&world.notes), "likesReceivedCount")],
                1 => vec![(target.clone(), "collectCount"), (author(&world.notes), "collectsReceivedCount")],
                2 => vec![(target.clone(), "likeCount")],
                3 => vec![(target.clone(), "followerCount"), (me.clone(), "followingCount")],
                _ => vec![(target.clone(), "memberCount"), (me.clone(), "groupCount")],
            };
            let of_removed = *kind < 2 && removed.contains(target);
            for key in moved.into_iter().filter(|_| !of_removed) {
                if let Some(number) = numbers.get_mut(&key) {
                    *number += 1;
                }
            }
        }
    }
    numbers
}

/// The same counts, read through the API.
pub async fn counts_from_api(client: &Client, expected: &Numbers) -> Numbers {
    let ids: BTreeSet<&String> = expected.keys().map(|(id, _)| id).collect();
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { id
        ... on User { followerCount followingCount noteCount commentCount likesReceivedCount
                      collectsReceivedCount groupCount coinCount }
        ... on Note { likeCount collectCount viewCount commentCount ratingCount }
        ... on Comment { likeCount replyCount }
        ... on Group { memberCount noteCount } } }";
    let nodes = client.data(query, json!({ "ids": ids })).await["nodes"].clone();
    let by_id: BTreeMap<&str, &Value> =
        nodes.as_array().unwrap().iter().filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let number = |(id, field): &(String, &'static str)| {
        let count = by_id.get(id.as_str()).map_or(-1, |node| node[*field].as_i64().unwrap());
        ((id.clone(), *field), count)
    };
    expected.keys().map(number).collect()
}
