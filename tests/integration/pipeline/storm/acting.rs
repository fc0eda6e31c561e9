//! The users' random actions.

use rand::{RngExt, rngs::StdRng, seq::IndexedRandom};
use serde_json::{Value, json};

use super::{
    done::{Done, EDGES, JOIN, Life},
    world::{
        BADGES, GROUP_REMOVER, GROUPS, INBOX_READERS, LEAVING, STEPS, USERS, VIEWERS, World, attempt,
        group_key, text,
    },
};
use support::Client;

/// A user who acts: one step after the other.
pub struct Actor<'w> {
    pub world: &'w World,
    pub index: usize,
    pub client: &'w Client,
    pub rng: StdRng,
    pub done: Done,
}

impl World {
    /// The steps of one user. One who is erased meanwhile goes on as a new user.
    pub async fn act(&self, index: usize, rng: StdRng) -> Vec<Life> {
        let client = &self.users[index].0;
        let mut actor = Actor { world: self, index, client, rng, done: self.begun(index) };
        let mut lives = Vec::new();
        let user = self.users[index].1.clone();
        actor.steps(STEPS / 2).await;
        if LEAVING.contains(&index) {
            let done = actor.leave().await;
            lives.push(Life { user: user.clone(), done });
        } else if index == GROUP_REMOVER {
            actor.remove_group().await;
        }
        actor.steps(STEPS - STEPS / 2).await;
        let user = if lives.is_empty() { user } else { actor.own_id().await.unwrap() };
        lives.push(Life { user, done: actor.done });
        lives
    }
}

impl Actor<'_> {
    async fn steps(&mut self, steps: usize) {
        for _ in 0..steps {
            self.step().await;
            self.world.step();
        }
    }

    async fn step(&mut self) {
        match self.rng.random_range(0..100) {
            0..5 if VIEWERS.contains(&self.index) => self.view().await,
            5..13 => self.comment().await,
            13..18 => self.edit_comment().await,
            18..20 => self.remove_comment().await,
            20..26 => self.rate().await,
            26..32 => self.post().await,
            32..36 => self.edit_note().await,
            36..38 => self.remove_note().await,
            38..40 => self.rename().await,
            40..44 if INBOX_READERS.contains(&self.index) => self.read_inbox().await,
            44..48 => self.report().await,
            48..60 if self.index < GROUPS => self.moderate_group().await,
            _ => self.flip().await,
        }
    }

    /// The id of the user whom the token's subject has now.
    pub async fn own_id(&self) -> Option<String> {
        let viewer = self.client.data("{ viewer { user { id } } }", json!({})).await;
        viewer["viewer"]["user"]["id"].as_str().map(str::to_owned)
    }

    pub async fn attempt(&self, mutation: &str, input: Value, fields: &str) -> Option<Value> {
        attempt(self.client, mutation, input, fields, &[]).await
    }

    /// What the app does instead of the user, as one element: its result. `None` if it was refused as for [`attempt`].
    pub async fn by_app(&self, mutation: &str, input: Value, fields: &str) -> Option<Value> {
        let fields = format!("results {{ error {{ code }} {fields} }}");
        let mut payload = attempt(&self.world.app, mutation, input, &fields, &[]).await?;
        let result = payload["results"][0].take();
        let code = result["error"]["code"].as_str();
        assert!(code.is_none_or(|code| ["NOT_FOUND", "SUSPENDED"].contains(&code)), "{mutation}: {result}");
        code.is_none().then_some(result)
    }

    pub fn any_note(&mut self) -> String {
        self.world.notes.choose(&mut self.rng).unwrap().0.clone()
    }

    async fn flip(&mut self) {
        let kind = self.rng.random_range(0..EDGES.len());
        let (turn_on, turn_off, argument, target_kind) = EDGES[kind];
        let target = self.world.targets(target_kind, self.index).choose(&mut self.rng).unwrap().clone();
        let on = self.rng.random_bool(0.6);
        let mutation = if on { turn_on } else { turn_off };
        let Some(reply) = self.attempt(mutation, json!({ argument: target }), "changed").await else {
            return;
        };
        let changed = reply["changed"].as_bool().unwrap();
        if kind == JOIN {
            *self.done.memberships.entry(target).or_default() += i64::from(changed) * if on { 1 } else { -1 };
            return;
        }
        let before = self.done.edges.insert((kind, target), on).unwrap_or(false);
        assert_eq!(changed, before != on, "{mutation}: {reply}");
    }

    async fn view(&mut self) {
        let ids: Vec<String> = (0..3).map(|_| self.any_note()).collect();
        let Some(reply) = self.attempt("recordViews", json!({ "noteIds": ids }), "notes { id }").await else {
            return;
        };
        self.done.viewed.extend(ids_of(&reply["notes"]));
    }

    /// Rates a note, or takes the rating back.
    async fn rate(&mut self) {
        let note = self.any_note();
        let score = self.rng.random_bool(0.7).then(|| self.rng.random_range(0..=10));
        let reply = match score {
            Some(score) => {
                self.attempt("rateNote", json!({ "noteId": note, "score": score }), "changed").await
            }
            None => self.attempt("unrateNote", json!({ "noteId": note }), "changed").await,
        };
        let Some(reply) = reply else { return };
        let before = match score {
            Some(score) => self.done.ratings.insert(note, score),
            None => self.done.ratings.remove(&note),
        };
        assert_eq!(reply["changed"], before != score, "{reply}");
    }

    async fn rename(&mut self) {
        let name = format!("User {}", self.rng.random::<u32>());
        if self.rng.random_bool(0.3) {
            let user = json!({ "subject": self.world.subject_of(self.index), "name": name });
            if self.by_app("upsertUsers", json!({ "users": [user] }), "outcome").await.is_some() {
                self.done.name = Some(name);
            }
            return;
        }
        if self.attempt("updateProfile", json!({ "name": name }), "changed").await.is_some() {
            self.done.name = Some(name);
        }
    }

    /// What was unread depends on the moment, so no reply is expected.
    async fn read_inbox(&mut self) {
        let badges = if self.rng.random_bool(0.5) { &BADGES[..2] } else { &BADGES };
        self.attempt("markInboxRead", json!({ "badges": badges }), "changed").await.unwrap();
    }

    /// Reports a note or comment, for moderators to decide. Nobody can report their own.
    async fn report(&mut self) {
        let (mutation, argument, kind) = if self.rng.random_bool(0.5) {
            ("reportNote", "noteId", "note")
        } else {
            ("reportComment", "commentId", "comment")
        };
        let target = self.world.targets(kind, self.index).choose(&mut self.rng).unwrap().clone();
        let reason = ["SPAM", "HATE", "OTHER"].choose(&mut self.rng).unwrap();
        let input = json!({ argument: target, "reason": reason });
        if attempt(self.client, mutation, input, "changed", &["BAD_USER_INPUT"]).await.is_some() {
            self.world.note_reported(target);
        }
    }

    /// What the owner of a group does in it: names, features, takes out.
    async fn moderate_group(&mut self) {
        let group = self.world.groups[self.index].clone();
        let note = self.world.posted_in(self.index).choose(&mut self.rng).unwrap().clone();
        match self.rng.random_range(0..12) {
            0 => {
                let name = format!("Group {}", self.rng.random::<u32>());
                let is_named = if self.index == 0 && self.rng.random_bool(0.5) {
                    let owner = &self.world.users[0].1;
                    let named = json!({ "key": group_key(self.world.storm), "ownerId": owner, "name": name });
                    self.by_app("upsertGroups", json!({ "groups": [named] }), "outcome").await.is_some()
                } else {
                    let input = json!({ "groupId": group, "name": name });
                    self.attempt("updateGroup", input, "changed").await.is_some()
                };
                if is_named {
                    self.done.group_names.insert(group, name);
                }
            }
            1..3 => {
                let member = self.world.users[self.rng.random_range(0..USERS)].1.clone();
                let input = json!({ "groupId": group, "userId": member });
                let reply = self.attempt("removeGroupMember", input, "changed").await;
                if reply.is_some_and(|reply| reply["changed"] == true) {
                    self.done.ended.push((member, group));
                }
            }
            3 => self.take_out(note, group).await,
            _ => {
                let on = self.rng.random_bool(0.7);
                let mutation = if on { "featureNote" } else { "unfeatureNote" };
                let input = json!({ "noteId": note });
                // A note that has left its group cannot be featured.
                let reply = attempt(self.client, mutation, input, "changed", &["BAD_USER_INPUT"]).await;
                if let Some(reply) = reply {
                    let before = self.done.featured.insert(note, on).unwrap_or(false);
                    assert_eq!(reply["changed"], before != on, "{mutation}: {reply}");
                }
            }
        }
    }

    pub async fn take_out(&mut self, note: String, group: String) {
        let input = json!({ "noteId": note, "groupId": group });
        if self.attempt("removeGroupNote", input, "changed").await.is_some() {
            self.done.taken_out.insert(note);
        }
    }

    async fn remove_group(&mut self) {
        let group = self.world.groups[self.index].clone();
        let reply = self.client.act("deleteGroup", json!({ "groupId": group }), "changed").await;
        assert_eq!(reply["changed"], true);
        self.done.removed.insert(group);
    }
}

pub fn ids_of(list: &Value) -> impl Iterator<Item = String> + '_ {
    list.as_array().unwrap().iter().map(|item| text(&item["id"]))
}
