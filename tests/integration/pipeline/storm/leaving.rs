//! Users who are erased while they act on several devices.

use futures_util::future::join_all;
use rand::seq::IndexedRandom;
use serde_json::{Value, json};

use super::{
    acting::Actor,
    done::{COLLECT, Done, FOLLOW, LIKE, LIKE_COMMENT, Post, Words},
    world::{LEAVING, USERS, text},
};

impl Actor<'_> {
    /// The user is erased amid a burst of actions. Returns what the user did before; then this is the actor of
    /// a new user, if an action has created one.
    ///
    /// Each action of the burst is before or after the erasure. One before is of the user who leaves, and goes with
    /// them. One after creates the new user of the same subject, or is that user's, and counts. A reply names the user
    /// whose action it was, if it can; of other actions the new user says what is theirs.
    pub async fn leave(&mut self) -> Done {
        let before = std::mem::take(&mut self.done);
        let targets = Targets {
            note: self.world.notes[self.index - 3].0.clone(),
            comment: self.world.comments.choose(&mut self.rng).unwrap().0.clone(),
            user: self.world.users[(self.index + 1) % USERS].1.clone(),
            group: self.world.groups[0].clone(),
        };
        let burst = targets.burst();
        let acting =
            burst.iter().map(|(mutation, input, fields)| self.attempt(mutation, input.clone(), fields));
        let (replies, ()) = tokio::join!(join_all(acting), self.erase());
        if let Some(user) = self.own_id().await {
            self.take_over(&user, &targets, &replies).await;
        }
        before
    }

    async fn erase(&self) {
        let user = &self.world.users[self.index].1;
        let reply = if self.index == LEAVING[0] {
            self.world.moderator.act("eraseUser", json!({ "userId": user }), "changed").await
        } else {
            let input = json!({ "userId": user, "confirmation": user });
            self.client.act("eraseUser", input, "changed").await
        };
        assert_eq!(reply["changed"], true);
    }

    /// Notes as done what is the new user's.
    async fn take_over(&mut self, user: &str, targets: &Targets, replies: &[Option<Value>]) {
        for reply in replies.iter().flatten() {
            if reply["note"]["author"]["id"] == user {
                let post = Post { group: None, body: BODY.into() };
                self.done.notes.insert(text(&reply["note"]["id"]), post);
            }
            if reply["comment"]["author"]["id"] == user && reply["comment"]["body"] == BODY {
                let note = targets.note.clone();
                let words = Words { note, parent: None, body: BODY.into(), is_allowed: true };
                self.done.comments.insert(text(&reply["comment"]["id"]), words);
            }
            if reply["user"]["id"] == user {
                self.done.name = Some(NAME.into());
            }
        }
        let query = "query ($note: ID!, $comment: ID!, $user: ID!, $group: ID!) {
            note(id: $note) { viewerHasLiked viewerHasCollected viewerRating }
            node(id: $comment) { ... on Comment { viewerHasLiked } }
            user(id: $user) { viewerIsFollowing }
            group(id: $group) { viewerIsMember } }";
        let Targets { note, comment, user, group } = targets;
        let variables = json!({ "note": note, "comment": comment, "user": user, "group": group });
        let own = self.client.data(query, variables).await;
        for (kind, target, state) in [
            (LIKE, note, &own["note"]["viewerHasLiked"]),
            (COLLECT, note, &own["note"]["viewerHasCollected"]),
            (LIKE_COMMENT, comment, &own["node"]["viewerHasLiked"]),
            (FOLLOW, user, &own["user"]["viewerIsFollowing"]),
        ] {
            self.done.edges.insert((kind, target.clone()), *state == true);
        }
        let is_member = own["group"]["viewerIsMember"] == true;
        self.done.memberships.insert(group.clone(), i64::from(is_member));
        if let Some(score) = own["note"]["viewerRating"].as_i64() {
            self.done.ratings.insert(note.clone(), score);
        }
    }
}

const BODY: &str = "Words at the end";
const NAME: &str = "Somebody new";

/// What the burst is about.
struct Targets {
    note: String,
    comment: String,
    user: String,
    group: String,
}

impl Targets {
    /// Mutations, inputs, and fields of the payloads. Nothing is removed, so the order does not matter.
    fn burst(&self) -> Vec<(&'static str, Value, &'static str)> {
        let Self { note, comment, user, group } = self;
        let created = "note { id author { id } }";
        let added = "comment { id body author { id } }";
        vec![
            ("likeNote", json!({ "noteId": note }), "changed"),
            ("createNote", json!({ "title": "In a storm", "body": BODY }), created),
            ("collectNote", json!({ "noteId": note }), "changed"),
            ("rateNote", json!({ "noteId": note, "score": 7 }), "changed"),
            ("addComment", json!({ "noteId": note, "body": BODY }), added),
            ("updateProfile", json!({ "name": NAME }), "user { id }"),
            ("likeComment", json!({ "commentId": comment }), "changed"),
            ("follow", json!({ "userId": user }), "changed"),
            ("joinGroup", json!({ "groupId": group }), "changed"),
            ("createNote", json!({ "title": "In a storm", "body": BODY }), created),
            ("reportNote", json!({ "noteId": note, "reason": "SPAM" }), "changed"),
            ("addComment", json!({ "noteId": note, "body": BODY }), added),
        ]
    }
}
