//! The counts that a plain model expects after a storm, from the replies, and the counts that clients get.
//!
//! Concurrent actions on one object have two orders, which come to the same:
//!
//! - with the removal of the object: what was done before it stops counting with the object, and what is done
//!   after it is refused. A reply to a removed comment counts; it is refused if it is later.
//! - with the hiding of a user: nothing of a user who is hidden in the end counts, whenever it was done; everything of
//!   one who is not does.
//! - with the suspension of its actor: an action that is refused was not done.
//! - with the erasure of its actor: see [`Actor::leave`](super::acting::Actor::leave).
//! - with the erasure of its target: a follow of the user, an action on their notes and a like of their comments end
//!   with the user, or are refused. A reply to their comment counts, or is refused.
//! - of a member who joins with the owner who takes them out: each of them that has changed something comes after one
//!   that did the opposite. So the member is in if more has been switched on than off.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{
    done::{COLLECT, Done, FOLLOW, LIKE, LIKE_COMMENT, Life, Words},
    world::{INBOX_READERS, LEAVING, Served, VIEWERS, World},
};
use support::Client;

/// Counts per object and field.
pub type Numbers = BTreeMap<(String, &'static str), i64>;

/// What is left after a storm.
pub struct Outcome<'w> {
    pub world: &'w World,
    pub lives: Vec<Life>,
    pub hidden: BTreeSet<String>,
    /// Notes, comments and groups.
    pub removed: BTreeSet<String>,
    pub served: Served,
}

impl<'w> Outcome<'w> {
    pub fn new(
        world: &'w World,
        lives: Vec<Life>,
        hidden: BTreeSet<String>,
        decided: BTreeSet<String>,
        served: Served,
    ) -> Self {
        for note in lives.iter().flat_map(|life| &life.done.found_removed) {
            assert!(decided.contains(note), "nobody has removed {note} before");
        }
        let is_leaving = |author: &usize| LEAVING.contains(author);
        let notes = world.notes.iter().filter(|(_, author, _)| is_leaving(author)).map(|(id, ..)| id);
        let comments = world.comments.iter().filter(|(_, author, _)| is_leaving(author)).map(|(id, ..)| id);
        let mut removed: BTreeSet<String> = notes.chain(comments).cloned().chain(decided).collect();
        removed.extend(lives.iter().flat_map(|life| life.done.removed.iter().cloned()));
        Self { world, lives, hidden, removed, served }
    }

    pub fn is_erased(&self, user: &str) -> bool {
        LEAVING.iter().any(|index| self.world.users[*index].1 == user)
    }

    /// The users who were not erased, with what they did.
    pub fn users(&self) -> impl Iterator<Item = &Life> {
        self.lives.iter().filter(|life| !self.is_erased(&life.user))
    }

    pub fn is_there(&self, id: &str) -> bool {
        !self.removed.contains(id)
    }

    /// A comment or reply, that everybody may see unless its author is hidden.
    pub fn is_public(&self, comment: &str, words: &Words) -> bool {
        words.is_allowed && !self.removed.contains(comment) && !self.removed.contains(&words.note)
    }

    /// Whether notes have left their groups by the hand of somebody.
    fn taken_out(&self) -> BTreeSet<&String> {
        self.lives.iter().flat_map(|life| &life.done.taken_out).collect()
    }

    fn featured(&self) -> BTreeSet<&String> {
        let featured = self.lives.iter().flat_map(|life| &life.done.featured);
        featured.filter(|(_, on)| **on).map(|(note, _)| note).collect()
    }

    /// The members of groups who were not erased: user and group.
    fn members(&self) -> BTreeSet<(&String, &String)> {
        let mut net = BTreeMap::<(&String, &String), i64>::new();
        for life in &self.lives {
            for (group, by) in &life.done.memberships {
                *net.entry((&life.user, group)).or_default() += by;
            }
            for (member, group) in &life.done.ended {
                *net.entry((member, group)).or_default() -= 1;
            }
        }
        net.retain(|(user, _), _| !self.is_erased(user));
        let odd = net.iter().find(|(_, net)| !(0..=1).contains(*net));
        assert_eq!(odd, None, "a membership was switched on twice, or off twice");
        net.into_iter().filter(|(_, net)| *net == 1).map(|(member, _)| member).collect()
    }

    /// The expected counts. Nothing of a hidden or erased user counts; what others did on a hidden note counts for the
    /// note alone.
    pub fn counts(&self) -> Numbers {
        let mut numbers = self.zeros();
        for (user, coins) in &self.served.coins {
            add(&mut numbers, user, "coinCount", *coins);
        }
        let viewers = VIEWERS.map(|index| &self.world.users[index].1);
        let viewed = self.lives.iter().filter(|life| viewers.contains(&&life.user));
        for note in viewed.flat_map(|life| &life.done.viewed).chain(&self.served.viewed) {
            add(&mut numbers, note, "viewCount", 1);
        }
        for (user, group) in self.members() {
            if !self.hidden.contains(user) && !self.removed.contains(group) {
                add(&mut numbers, group, "memberCount", 1);
                add(&mut numbers, user, "groupCount", 1);
            }
        }
        for life in self.users().filter(|life| !self.hidden.contains(&life.user)) {
            self.count_notes(life, &mut numbers);
            self.count_comments(life, &mut numbers);
            self.count_edges(&life.user, &life.done, &mut numbers);
            for note in life.done.ratings.keys() {
                add(&mut numbers, note, "ratingCount", 1);
            }
        }
        numbers
    }

    /// Every count that is compared, at zero.
    fn zeros(&self) -> Numbers {
        let mut numbers = Numbers::new();
        let mut zero = |id: &String, fields: &[&'static str]| {
            numbers.extend(fields.iter().map(|field| ((id.clone(), *field), 0)));
        };
        for life in self.users() {
            zero(&life.user, &["followerCount", "followingCount", "noteCount", "commentCount"]);
            zero(&life.user, &["likesReceivedCount", "collectsReceivedCount", "groupCount", "coinCount"]);
        }
        for group in self.world.groups.iter().filter(|id| self.is_there(id)) {
            zero(group, &["memberCount", "noteCount", "featuredNoteCount"]);
        }
        for (note, ..) in self.world.notes.iter().filter(|(id, ..)| self.is_there(id)) {
            zero(note, &["likeCount", "collectCount", "viewCount", "commentCount", "ratingCount"]);
        }
        let are_there = |id: &String, note: &String| self.is_there(id) && self.is_there(note);
        for (comment, ..) in self.world.comments.iter().filter(|(id, _, note)| are_there(id, note)) {
            zero(comment, &["likeCount", "replyCount"]);
        }
        numbers
    }

    fn count_notes(&self, Life { user, done }: &Life, numbers: &mut Numbers) {
        let (taken_out, featured) = (self.taken_out(), self.featured());
        for (note, post) in done.notes.iter().filter(|(id, _)| self.is_there(id)) {
            add(numbers, user, "noteCount", 1);
            if let Some(group) = post.group.as_ref().filter(|_| !taken_out.contains(note)) {
                add(numbers, group, "noteCount", 1);
                add(numbers, group, "featuredNoteCount", i64::from(featured.contains(note)));
            }
        }
    }

    fn count_comments(&self, Life { user, done }: &Life, numbers: &mut Numbers) {
        for (_, words) in done.comments.iter().filter(|(id, words)| self.is_public(id, words)) {
            add(numbers, &words.note, "commentCount", 1);
            if !self.hidden.contains(self.world.author_of(&words.note)) {
                add(numbers, user, "commentCount", 1);
            }
            if let Some(parent) = &words.parent {
                add(numbers, parent, "replyCount", 1);
            }
        }
    }

    fn count_edges(&self, user: &str, done: &Done, numbers: &mut Numbers) {
        for ((kind, target), _) in done.edges.iter().filter(|(_, on)| **on) {
            let (of_target, received) = match *kind {
                LIKE => ("likeCount", Some("likesReceivedCount")),
                COLLECT => ("collectCount", Some("collectsReceivedCount")),
                LIKE_COMMENT => ("likeCount", None),
                FOLLOW => ("followerCount", None),
                other => unreachable!("{other} is no edge that only its actor switches"),
            };
            add(numbers, target, of_target, 1);
            if let Some(received) = received.filter(|_| self.is_there(target)) {
                let author = self.world.author_of(target);
                add(numbers, author, received, i64::from(!self.hidden.contains(author)));
            }
            if *kind == FOLLOW && !self.is_erased(target) {
                add(numbers, user, "followingCount", 1);
            }
        }
    }

    /// Unread messages of users who never mark them as read. Every message counts until its sender is erased.
    pub fn messages(&self) -> BTreeMap<usize, i64> {
        let unread = |index: usize| {
            let received = self.served.messages.iter().filter(|((sender, recipient), _)| {
                *recipient == self.world.users[index].1 && !self.is_erased(sender)
            });
            received.map(|(_, messages)| messages).sum()
        };
        let is_compared = |index: &usize| !INBOX_READERS.contains(index) && !LEAVING.contains(index);
        (0..self.world.users.len()).filter(is_compared).map(|index| (index, unread(index))).collect()
    }
}

/// Adds to a count, if it is compared.
fn add(numbers: &mut Numbers, id: &str, field: &'static str, by: i64) {
    if let Some(number) = numbers.get_mut(&(id.to_owned(), field)) {
        *number += by;
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
        ... on Group { memberCount noteCount featuredNoteCount } } }";
    let nodes = client.data(query, json!({ "ids": ids })).await["nodes"].clone();
    let by_id: BTreeMap<&str, &Value> =
        nodes.as_array().unwrap().iter().filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let number = |(id, field): &(String, &'static str)| {
        let count = by_id.get(id.as_str()).map_or(-1, |node| node[*field].as_i64().unwrap());
        ((id.clone(), *field), count)
    };
    expected.keys().map(number).collect()
}
