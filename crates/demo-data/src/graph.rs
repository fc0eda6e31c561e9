//! Relations: follows, likes, collects and messages.

use std::collections::BTreeSet;

use rand::{Rng, RngExt};

use super::{
    chances::Chances,
    comments::DemoComment,
    notes::DemoNote,
    people::Person,
    timeline::{EpochMillis, Timeline},
};

/// Limit of follows per user.
pub const MOST_FOLLOWED: usize = 500;

/// Limit of draws per pair: where most pairs already exist, a draw seldom finds a new one.
const DRAWS_PER_PAIR: usize = 8;

/// The share of liked notes that the user also collects.
const COLLECTED: f64 = 0.2;

/// A relation that is on. Actor and target are positions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DemoEdge {
    pub actor: usize,
    pub target: usize,
    pub since: EpochMillis,
}

/// At most `count` follows, none of oneself, and not more than [`MOST_FOLLOWED`] by one user.
pub fn follows(rng: &mut impl Rng, people: &[Person], count: usize, timeline: Timeline) -> Vec<DemoEdge> {
    let famous = Chances::new(people.iter().map(|person| person.fame));
    let mut followed = vec![0; people.len()];
    let pairs = pairs(rng, count, people, &famous, |actor, target| {
        let fits = actor != target && followed[actor] < MOST_FOLLOWED;
        followed[actor] += usize::from(fits);
        fits
    });
    edges(rng, pairs, people, |target| people[target].joined_at, timeline)
}

/// At most `count` likes of notes.
pub fn note_likes(
    rng: &mut impl Rng,
    people: &[Person],
    notes: &[DemoNote],
    count: usize,
    timeline: Timeline,
) -> Vec<DemoEdge> {
    let popular = Chances::new(notes.iter().map(|note| note.appeal));
    let pairs = pairs(rng, count, people, &popular, |_, _| true);
    edges(rng, pairs, people, |target| notes[target].written_at, timeline)
}

/// Collects of notes: users collect some of the notes that they like.
pub fn collects(rng: &mut impl Rng, likes: &[DemoEdge], timeline: Timeline) -> Vec<DemoEdge> {
    let mut collects = Vec::new();
    for like in likes {
        if rng.random_bool(COLLECTED) {
            collects.push(DemoEdge { since: timeline.soon_after(rng, like.since), ..*like });
        }
    }
    collects
}

/// At most `count` first messages of a user to another.
pub fn messages(rng: &mut impl Rng, people: &[Person], count: usize, timeline: Timeline) -> Vec<DemoEdge> {
    let famous = Chances::new(people.iter().map(|person| person.fame));
    let pairs = pairs(rng, count, people, &famous, |actor, target| actor != target);
    edges(rng, pairs, people, |target| people[target].joined_at, timeline)
}

/// At most `count` likes of comments.
pub fn comment_likes(
    rng: &mut impl Rng,
    people: &[Person],
    comments: &[DemoComment],
    count: usize,
    timeline: Timeline,
) -> Vec<DemoEdge> {
    let popular = Chances::new(comments.iter().map(|comment| comment.appeal));
    let pairs = pairs(rng, count, people, &popular, |_, _| true);
    edges(rng, pairs, people, |target| comments[target].written_at, timeline)
}

/// Views of each note: more than its likes.
pub fn views(rng: &mut impl Rng, notes: &[DemoNote], likes: &[DemoEdge]) -> Vec<i64> {
    let mut views = vec![0; notes.len()];
    for like in likes {
        views[like.target] += rng.random_range(5..25);
    }
    for views in &mut views {
        *views += if *views == 0 { rng.random_range(0..3) } else { rng.random_range(0..60) };
    }
    views
}

/// Draws different pairs of an active user and a target. `fits` is called once for each new pair.
fn pairs(
    rng: &mut impl Rng,
    count: usize,
    people: &[Person],
    targets: &Chances,
    mut fits: impl FnMut(usize, usize) -> bool,
) -> BTreeSet<(usize, usize)> {
    let active = Chances::new(people.iter().map(|person| person.activity));
    let mut pairs = BTreeSet::new();
    for _ in 0..count * DRAWS_PER_PAIR {
        let (Some(actor), Some(target)) = (active.draw(rng), targets.draw(rng)) else { break };
        if pairs.len() == count {
            break;
        }
        if !pairs.contains(&(actor, target)) && fits(actor, target) {
            pairs.insert((actor, target));
        }
    }
    pairs
}

/// Edges of these pairs, each at a time when both sides exist.
fn edges(
    rng: &mut impl Rng,
    pairs: BTreeSet<(usize, usize)>,
    people: &[Person],
    target_since: impl Fn(usize) -> EpochMillis,
    timeline: Timeline,
) -> Vec<DemoEdge> {
    let mut edges = Vec::with_capacity(pairs.len());
    for (actor, target) in pairs {
        let earliest = people[actor].joined_at.max(target_since(target));
        edges.push(DemoEdge { actor, target, since: timeline.reaction_to(rng, earliest) });
    }
    edges
}
