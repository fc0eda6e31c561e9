//! The world of a storm: its users, and what they act on.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Mutex,
};

use plaudit_token_auth::Role;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::done::{Done, Post, Words};
use support::{Client, Server, number};

pub const USERS: usize = 10;
/// Users who are hidden and restored. They view nothing: whether a view counts depends on the moment.
pub const HIDEABLE: [usize; 6] = [0, 1, 2, 3, 4, 8];
/// Users who are suspended at times.
pub const SUSPENDABLE: [usize; 4] = [3, 4, 5, 6];
/// Users whose views are counted.
pub const VIEWERS: [usize; 3] = [5, 6, 7];
/// Users who mark their inbox as read. The others never do.
pub const INBOX_READERS: [usize; 2] = [3, 5];
/// Users who are erased in the middle of the storm: the first by a moderator, the second by themselves.
pub const LEAVING: [usize; 2] = [8, 9];
/// The first users own a group each; the last of these removes hers.
pub const GROUPS: usize = 3;
pub const GROUP_REMOVER: usize = GROUPS - 1;
const NOTES: usize = 14;
const COMMENTS: usize = 10;
/// Actions of each user.
pub const STEPS: usize = 120;
/// All badges of an inbox.
pub const BADGES: [&str; 4] = ["LIKES", "MESSAGES", "REPLIES", "FOLLOWERS"];
/// A comment with this word is rejected.
pub const FORBIDDEN: &str = "forbidden";

/// The users and entities of a storm.
pub struct World {
    pub users: Vec<(Client, String)>,
    pub moderator: Client,
    /// The app's own server.
    pub app: Client,
    pub storm: usize,
    pub anonymous: Client,
    pub groups: Vec<String>,
    /// Comments that exist from the beginning: id, author, note.
    pub comments: Vec<(String, usize, String)>,
    /// Notes that exist from the beginning: id, author, group.
    pub notes: Vec<(String, usize, Option<String>)>,
    /// Notes that were posted in each group.
    posted: Vec<Mutex<Vec<String>>>,
    /// Notes and comments that were reported.
    reported: Mutex<Vec<String>>,
    /// Steps of all users.
    progress: watch::Sender<usize>,
}

impl World {
    pub async fn new(server: &Server, moderator: &Client, storm: usize) -> Self {
        let mut users = Vec::new();
        for i in 0..USERS {
            let client = server.client(&subject(storm, i)).retrying();
            let name = json!({ "name": format!("User {i}") });
            let id = client.act("updateProfile", name, "user { id }").await["user"]["id"].clone();
            users.push((client, text(&id)));
        }
        let app = server.client_as(Role::Service, "the app").retrying();
        // The first group is the app's.
        let group = json!({ "key": group_key(storm), "ownerId": users[0].1, "name": "Storm" });
        let fields = "results { group { id } }";
        let created = app.act("upsertGroups", json!({ "groups": [group] }), fields).await;
        let mut groups = vec![text(&created["results"][0]["group"]["id"])];
        for (owner, _) in &users[1..GROUPS] {
            let created = owner.act("createGroup", json!({ "name": "Storm" }), "group { id }").await;
            groups.push(text(&created["group"]["id"]));
        }
        let mut notes = Vec::new();
        for i in 0..NOTES {
            // The owner of a group may post in it.
            let (author, group) = (i % USERS, groups.get(i).cloned());
            let input = json!({ "groupId": group });
            let created = users[author].0.act("createNote", input, "note { id }").await;
            notes.push((text(&created["note"]["id"]), author, group));
        }
        let mut comments = Vec::new();
        for (i, (note, ..)) in notes.iter().enumerate().take(COMMENTS) {
            // On somebody else's note.
            let author = (i + 2) % USERS;
            let (by, on) = (number(&json!(users[author].1)), number(&json!(note)));
            let id = server.stores().new_comment_by(by, on).await;
            comments.push((format!("comment_{id}"), author, note.clone()));
        }
        let posted = groups.iter().map(|group| {
            let in_group = notes.iter().filter(|(_, _, other)| other.as_ref() == Some(group));
            Mutex::new(in_group.map(|(id, ..)| id.clone()).collect())
        });
        Self {
            posted: posted.collect(),
            users,
            moderator: moderator.clone(),
            app,
            storm,
            anonymous: server.anonymous(),
            groups,
            comments,
            notes,
            reported: Mutex::default(),
            progress: watch::Sender::new(0),
        }
    }

    /// What exists of a user from the beginning.
    pub fn begun(&self, actor: usize) -> Done {
        let notes = self.notes.iter().filter(|(_, author, _)| *author == actor);
        let post = |group: &Option<String>| Post { group: group.clone(), body: String::new() };
        let comments = self.comments.iter().filter(|(_, author, _)| *author == actor);
        let words = |note: &String| Words {
            note: note.clone(),
            parent: None,
            body: "Some words".into(),
            is_allowed: true,
        };
        Done {
            notes: notes.map(|(id, _, group)| (id.clone(), post(group))).collect(),
            comments: comments.map(|(id, _, note)| (id.clone(), words(note))).collect(),
            ..Done::default()
        }
    }

    pub fn subject_of(&self, actor: usize) -> String {
        subject(self.storm, actor)
    }

    pub fn author_of(&self, note: &str) -> &str {
        let (_, author, _) = self.notes.iter().find(|(id, ..)| id == note).unwrap();
        &self.users[*author].1
    }

    /// Targets of edges of an actor.
    pub fn targets(&self, kind: &str, actor: usize) -> Vec<String> {
        match kind {
            "note" => self.notes.iter().map(|(id, ..)| id.clone()).collect(),
            "comment" => self.comments.iter().map(|(id, ..)| id.clone()).collect(),
            "group" => self.groups.clone(),
            _ => {
                self.users.iter().map(|(_, id)| id.clone()).filter(|id| *id != self.users[actor].1).collect()
            }
        }
    }

    pub fn posted_in(&self, group: usize) -> Vec<String> {
        self.posted[group].lock().unwrap().clone()
    }

    pub fn note_posted(&self, note: &str, group: &str) {
        let group = self.groups.iter().position(|id| id == group).unwrap();
        self.posted[group].lock().unwrap().push(note.to_owned());
    }

    pub fn reported(&self) -> Vec<String> {
        self.reported.lock().unwrap().clone()
    }

    pub fn note_reported(&self, target: String) {
        self.reported.lock().unwrap().push(target);
    }

    /// Says that a user has taken a step.
    pub fn step(&self) {
        self.progress.send_modify(|steps| *steps += 1);
    }

    /// Waits until this part of all steps is done, so that others act throughout the storm.
    pub async fn until(&self, part: usize, parts: usize) {
        let steps = USERS * STEPS * part / parts;
        self.progress.subscribe().wait_for(|done| *done >= steps).await.unwrap();
    }
}

/// The app's key of the first group.
pub fn group_key(storm: usize) -> String {
    format!("storm {storm}")
}

fn subject(storm: usize, user: usize) -> String {
    format!("storm {storm} user {user}")
}

/// Runs a mutation. `None` if it was refused, for one of these reasons, because its target is gone or hidden,
/// or because the actor is suspended.
pub async fn attempt(
    client: &Client,
    mutation: &str,
    input: Value,
    fields: &str,
    reasons: &[&str],
) -> Option<Value> {
    match client.try_act(mutation, input.clone(), fields).await {
        Ok(payload) => Some(payload),
        Err(code) => {
            let is_known = ["NOT_FOUND", "SUSPENDED"].contains(&&*code) || reasons.contains(&&*code);
            assert!(is_known, "{mutation} {input}: {code}");
            None
        }
    }
}

/// Grants, messages and views without a token, according to the replies.
#[derive(Default)]
pub struct Served {
    pub coins: BTreeMap<String, i64>,
    /// By sender and recipient.
    pub messages: BTreeMap<(String, String), i64>,
    /// Notes that were viewed without a token: from one address, so each was viewed once.
    pub viewed: BTreeSet<String>,
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}
