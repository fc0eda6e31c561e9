//! The users' notes and comments: written, edited and removed.

use rand::{RngExt, seq::IndexedRandom};
use serde_json::json;

use super::{
    acting::Actor,
    done::{Post, Words},
    world::{FORBIDDEN, attempt, text},
};

impl Actor<'_> {
    /// Posts a note, perhaps in a group: only members and the owner can.
    pub async fn post(&mut self) {
        if self.rng.random_bool(0.3) {
            self.post_by_app().await;
            return;
        }
        let group = self.rng.random_bool(0.7).then(|| self.group_to_post_in());
        let body = self.body();
        let input = json!({ "title": self.title(), "body": body, "groupId": group });
        let Some(reply) = attempt(self.client, "createNote", input, "note { id }", &["FORBIDDEN"]).await
        else {
            return;
        };
        let id = text(&reply["note"]["id"]);
        if let Some(group) = &group {
            self.world.note_posted(&id, group);
        }
        self.done.notes.insert(id, Post { group, body });
    }

    /// The app says twice what the user has written there.
    async fn post_by_app(&mut self) {
        let Some(author) = self.own_id().await else { return };
        let (key, body) = (format!("storm {}", self.rng.random::<u64>()), self.body());
        let note = json!({ "key": key, "authorId": author, "title": self.title(), "body": body });
        for outcome in ["CREATED", "UNCHANGED"] {
            let fields = "outcome note { id }";
            let Some(result) = self.by_app("upsertNotes", json!({ "notes": [note] }), fields).await else {
                return;
            };
            assert_eq!(result["outcome"], outcome, "{result}");
            let post = Post { group: None, body: body.clone() };
            self.done.notes.insert(text(&result["note"]["id"]), post);
        }
    }

    fn title(&mut self) -> Option<&'static str> {
        self.rng.random_bool(0.5).then_some("In a storm")
    }

    /// Mostly one that the user owns, or has joined.
    fn group_to_post_in(&mut self) -> String {
        let all = &self.world.groups;
        let joined = all.iter().enumerate().filter(|(owner, id)| {
            *owner == self.index || self.done.memberships.get(*id).is_some_and(|net| *net > 0)
        });
        let joined: Vec<&String> = joined.map(|(_, id)| id).collect();
        let is_any = joined.is_empty() || self.rng.random_bool(0.2);
        let group = if is_any { all.choose(&mut self.rng) } else { joined.choose(&mut self.rng).copied() };
        group.unwrap().clone()
    }

    fn body(&mut self) -> String {
        format!("Text {}", self.rng.random::<u32>())
    }

    fn own_note(&mut self) -> Option<String> {
        let own: Vec<String> = self.done.notes.keys().cloned().collect();
        own.choose(&mut self.rng).cloned()
    }

    /// Gives an own note another text, or takes it out of its group.
    pub async fn edit_note(&mut self) {
        let Some(note) = self.own_note() else { return };
        if self.rng.random_bool(0.2)
            && let Some(group) = self.done.notes[&note].group.clone()
        {
            self.take_out(note, group).await;
            return;
        }
        let body = self.body();
        let input = json!({ "noteId": note, "body": body });
        if let Some(reply) = self.attempt("updateNote", input, "changed").await {
            assert_eq!(reply["changed"], true);
            self.done.notes.get_mut(&note).unwrap().body = body;
        }
    }

    pub async fn remove_note(&mut self) {
        let Some(note) = self.own_note() else { return };
        let is_unchanged = if self.rng.random_bool(0.3) {
            let result = self.by_app("removeNotes", json!({ "noteIds": [note] }), "outcome").await;
            result.map(|result| result["outcome"] == "UNCHANGED")
        } else {
            let reply = self.attempt("deleteNote", json!({ "noteId": note }), "changed").await;
            reply.map(|reply| reply["changed"] == false)
        };
        let Some(is_unchanged) = is_unchanged else { return };
        self.done.notes.remove(&note);
        if is_unchanged {
            self.done.found_removed.push(note.clone());
        }
        self.done.removed.insert(note);
    }

    /// Comments on a note, or replies to one of the storm's first comments. Mentions somebody at times.
    pub async fn comment(&mut self) {
        let (parent, note) = if self.rng.random_bool(0.5) {
            let (id, _, note) = self.world.comments.choose(&mut self.rng).unwrap();
            (Some(id.clone()), note.clone())
        } else {
            (None, self.any_note())
        };
        let mentions = self.rng.random_bool(0.3).then(|| {
            let (_, user) = self.world.users.choose(&mut self.rng).unwrap();
            [user]
        });
        let (body, is_allowed) = self.words();
        let input = json!({ "noteId": note, "replyToId": parent, "body": body, "mentions": mentions });
        if let Some(reply) = self.attempt("addComment", input, "comment { id }").await {
            let words = Words { note, parent, body, is_allowed };
            self.done.comments.insert(text(&reply["comment"]["id"]), words);
        }
    }

    /// A text, and whether the moderator approves it.
    fn words(&mut self) -> (String, bool) {
        let is_allowed = self.rng.random_bool(0.7);
        let word = if is_allowed { "Words" } else { FORBIDDEN };
        (format!("{word} {}", self.rng.random::<u32>()), is_allowed)
    }

    fn own_comment(&mut self) -> Option<String> {
        let own: Vec<String> = self.done.comments.keys().cloned().collect();
        own.choose(&mut self.rng).cloned()
    }

    /// Gives an own comment another text, which is judged again. Allowed words are never replaced by forbidden
    /// ones: what counts then would depend on whether the first text had been judged.
    pub async fn edit_comment(&mut self) {
        let Some(comment) = self.own_comment() else { return };
        let (body, is_allowed) = self.words();
        if self.done.comments[&comment].is_allowed && !is_allowed {
            return;
        }
        let input = json!({ "commentId": comment, "body": body });
        if let Some(reply) = self.attempt("updateComment", input, "changed").await {
            assert_eq!(reply["changed"], true);
            let words = self.done.comments.get_mut(&comment).unwrap();
            (words.body, words.is_allowed) = (body, is_allowed);
        }
    }

    pub async fn remove_comment(&mut self) {
        let Some(comment) = self.own_comment() else { return };
        // Unchanged if it was removed before, by a moderator or with its note.
        if self.attempt("deleteComment", json!({ "commentId": comment }), "changed").await.is_some() {
            self.done.comments.remove(&comment);
            self.done.removed.insert(comment);
        }
    }
}
