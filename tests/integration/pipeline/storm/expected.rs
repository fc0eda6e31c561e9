//! The counts that a plain model expects after a storm, and the counts that clients get.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::world::{Done, World};
use crate::support::Client;

/// Counts per object and field.
pub type Numbers = BTreeMap<(String, &'static str), i64>;

/// The expected counts. Nothing of a hidden user counts; what others did on a hidden note counts for the note alone.
pub fn expected(
    world: &World,
    done: &[Done],
    hidden: &BTreeSet<String>,
    coins: &BTreeMap<String, i64>,
) -> Numbers {
    let removed: BTreeSet<&String> = done.iter().flat_map(|done| &done.removed).collect();
    let mut numbers = zeros(world, &removed);
    for (id, coins) in coins {
        add(&mut numbers, id, "coinCount", *coins);
    }
    for (i, comment) in world.comments.iter().enumerate() {
        let place = CommentPlace { author: i, note: &world.notes[i].0, parent: None };
        if numbers.contains_key(&(comment.clone(), "replyCount")) {
            place.count(world, hidden, &mut numbers);
        }
    }
    for (actor, done) in done.iter().enumerate() {
        for (id, views) in &done.views {
            add(&mut numbers, id, "viewCount", *views);
        }
        let me = &world.users[actor].1;
        if hidden.contains(me) {
            continue;
        }
        add(&mut numbers, me, "noteCount", done.notes.len() as i64);
        for group in done.notes.values().flatten() {
            add(&mut numbers, group, "noteCount", 1);
        }
        for note in done.ratings.keys() {
            add(&mut numbers, note, "ratingCount", 1);
        }
        for (note, parent) in done.comments.values().filter(|(note, _)| !removed.contains(note)) {
            CommentPlace { author: actor, note, parent: parent.as_ref() }.count(world, hidden, &mut numbers);
        }
        for ((kind, target), _) in done.edges.iter().filter(|(_, on)| **on) {
            let is_removed = *kind < 2 && removed.contains(target);
            for (id, field) in moved_by(world, *kind, me, target, hidden).into_iter().filter(|_| !is_removed)
            {
                add(&mut numbers, &id, field, 1);
            }
        }
    }
    numbers
}

/// Every count that is compared, at zero.
fn zeros(world: &World, removed: &BTreeSet<&String>) -> Numbers {
    let mut numbers = Numbers::new();
    let mut zero = |id: &String, fields: &[&'static str]| {
        numbers.extend(fields.iter().map(|field| ((id.clone(), *field), 0)));
    };
    let user = [
        "followerCount",
        "followingCount",
        "noteCount",
        "commentCount",
        "likesReceivedCount",
        "collectsReceivedCount",
        "groupCount",
        "coinCount",
    ];
    world.users.iter().for_each(|(_, id)| zero(id, &user));
    world.groups.iter().for_each(|id| zero(id, &["memberCount", "noteCount"]));
    for (i, (note, ..)) in world.notes.iter().enumerate().filter(|(_, (id, ..))| !removed.contains(id)) {
        zero(note, &["likeCount", "collectCount", "viewCount", "commentCount", "ratingCount"]);
        if let Some(comment) = world.comments.get(i) {
            zero(comment, &["likeCount", "replyCount"]);
        }
    }
    numbers
}

/// Adds to a count, if it is compared.
fn add(numbers: &mut Numbers, id: &str, field: &'static str, by: i64) {
    if let Some(number) = numbers.get_mut(&(id.to_owned(), field)) {
        *number += by;
    }
}

/// A comment that was not removed, with the index of its author.
struct CommentPlace<'a> {
    author: usize,
    note: &'a String,
    parent: Option<&'a String>,
}

impl CommentPlace<'_> {
    fn count(&self, world: &World, hidden: &BTreeSet<String>, numbers: &mut Numbers) {
        let author = &world.users[self.author].1;
        if hidden.contains(author) {
            return;
        }
        if !hidden.contains(author_of(world, self.note)) {
            add(numbers, author, "commentCount", 1);
        }
        add(numbers, self.note, "commentCount", 1);
        if let Some(parent) = self.parent {
            add(numbers, parent, "replyCount", 1);
        }
    }
}

fn author_of<'w>(world: &'w World, note: &String) -> &'w String {
    let (_, author, _) = world.notes.iter().find(|(id, ..)| id == note).unwrap();
    &world.users[*author].1
}

/// What an edge that is on moves: the counts of its target, of the target's author, and of its actor.
fn moved_by(
    world: &World,
    kind: usize,
    me: &str,
    target: &String,
    hidden: &BTreeSet<String>,
) -> Vec<(String, &'static str)> {
    let received = |field| {
        let author = author_of(world, target);
        (!hidden.contains(author)).then(|| (author.clone(), field))
    };
    let of_target = |field| (target.clone(), field);
    match kind {
        0 => [Some(of_target("likeCount")), received("likesReceivedCount")].into_iter().flatten().collect(),
        1 => [Some(of_target("collectCount")), received("collectsReceivedCount")]
            .into_iter()
            .flatten()
            .collect(),
        2 => vec![of_target("likeCount")],
        3 => vec![of_target("followerCount"), (me.to_owned(), "followingCount")],
        _ => vec![of_target("memberCount"), (me.to_owned(), "groupCount")],
    }
}

/// The same counts, read through the API by a client that sees hidden notes.
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
