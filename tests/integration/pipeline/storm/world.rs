//! The world of a storm, and the users' random actions on it.

use std::collections::{BTreeMap, BTreeSet};

use rand::{RngExt, rngs::StdRng, seq::IndexedRandom};
use serde_json::json;

use crate::support::{Client, Server, number};

pub const USERS: usize = 8;
/// The first users are hidden and restored at random. They view nothing: whether a view counts depends on the moment.
const HIDEABLE: usize = 5;
const NOTES: usize = 6;
const GROUPS: usize = 2;
pub const COMMENTS: usize = 4;
const STEPS: usize = 60;

/// Mutations that switch an edge on and off, their argument, and the kind of target.
const EDGES: [(&str, &str, &str, &str); 5] = [
    ("likeNote", "unlikeNote", "noteId", "note"),
    ("collectNote", "uncollectNote", "noteId", "note"),
    ("likeComment", "unlikeComment", "commentId", "comment"),
    ("follow", "unfollow", "userId", "user"),
    ("joinGroup", "leaveGroup", "groupId", "group"),
];

/// The actions of one user, according to the replies.
#[derive(Default)]
pub struct Done {
    /// Last state of each edge: kind of edge and target.
    pub edges: BTreeMap<(usize, String), bool>,
    /// Notes that the user created and did not delete: id and group.
    pub notes: BTreeMap<String, Option<String>>,
    pub removed: BTreeSet<String>,
    pub views: BTreeMap<String, i64>,
    /// Comments that the user added and did not delete: id to note and parent comment.
    pub comments: BTreeMap<String, (String, Option<String>)>,
    pub ratings: BTreeMap<String, i64>,
}

/// The users and entities of a storm.
pub struct World {
    pub users: Vec<(Client, String)>,
    pub groups: Vec<String>,
    pub comments: Vec<String>,
    /// Notes that exist from the beginning: id, author, group.
    pub notes: Vec<(String, usize, Option<String>)>,
}

impl World {
    pub async fn new(server: &Server, storm: usize) -> Self {
        let stores = server.stores();
        let mut users = Vec::new();
        let stranger = stores.new_user().await;
        for i in 0..USERS {
            let client = server.client(&format!("storm {storm} user {i}"));
            client.act("follow", json!({ "userId": format!("user_{stranger}") }), "changed").await;
            let unfollow = json!({ "userId": format!("user_{stranger}") });
            let id = client.act("unfollow", unfollow, "viewer { user { id } }").await["viewer"]["user"]["id"]
                .clone();
            users.push((client, id.as_str().unwrap().to_owned()));
        }
        let mut groups = Vec::new();
        for (creator, _) in &users[..GROUPS] {
            let created = creator.act("createGroup", json!({ "name": "Storm" }), "group { id }").await;
            groups.push(created["group"]["id"].as_str().unwrap().to_owned());
        }
        let mut notes = Vec::new();
        for i in 0..NOTES {
            // The creator of a group may post in it.
            let (author, group) = (i % USERS, groups.get(i).cloned());
            let id = post(&users[author].0, group.as_ref()).await;
            notes.push((id, author, group));
        }
        let mut comments = Vec::new();
        for i in 0..COMMENTS {
            let (author, note) = (&users[i].1, &notes[i].0);
            let id = stores.new_comment_by(number(&json!(author)), number(&json!(note))).await;
            comments.push(format!("comment_{id}"));
        }
        Self { users, groups, comments, notes }
    }

    fn targets(&self, kind: &str, actor: usize) -> Vec<String> {
        match kind {
            "note" => self.notes.iter().map(|(id, ..)| id.clone()).collect(),
            "comment" => self.comments.clone(),
            "group" => self.groups.clone(),
            _ => {
                self.users.iter().map(|(_, id)| id.clone()).filter(|id| *id != self.users[actor].1).collect()
            }
        }
    }

    /// The steps of one user, in sequence.
    pub async fn act(&self, actor: usize, mut rng: StdRng) -> Done {
        let (client, mut done) = (&self.users[actor].0, Done::default());
        for (id, _, group) in self.notes.iter().filter(|(_, author, _)| *author == actor) {
            done.notes.insert(id.clone(), group.clone());
        }
        for _ in 0..STEPS {
            match rng.random_range(0..100) {
                0..65 => self.flip(client, actor, &mut rng, &mut done).await,
                65..72 if actor >= HIDEABLE => self.view(client, &mut rng, &mut done).await,
                65..72 => {}
                72..80 => self.comment(client, &mut rng, &mut done).await,
                80..84 => remove_comment(client, &mut rng, &mut done).await,
                84..90 => self.rate(client, &mut rng, &mut done).await,
                90..95 => {
                    let group = (actor < GROUPS).then(|| self.groups[actor].clone());
                    done.notes.insert(post(client, group.as_ref()).await, group);
                }
                _ => remove_one(client, &mut rng, &mut done).await,
            }
        }
        done
    }

    async fn flip(&self, client: &Client, actor: usize, rng: &mut StdRng, done: &mut Done) {
        let kind = rng.random_range(0..EDGES.len());
        let (turn_on, turn_off, argument, target_kind) = EDGES[kind];
        let target = self.targets(target_kind, actor).choose(rng).unwrap().clone();
        let on = rng.random_bool(0.6);
        let mutation = if on { turn_on } else { turn_off };
        let input = json!({ "input": { argument: target } });
        let type_name = format!("{}{}Input", mutation[..1].to_uppercase(), &mutation[1..]);
        let query = format!("mutation ($input: {type_name}!) {{ {mutation}(input: $input) {{ changed }} }}");
        let reply = client.send(&query, input).await.body;
        match reply["data"][mutation]["changed"].as_bool() {
            Some(changed) => {
                let before = done.edges.insert((kind, target), on).unwrap_or(false);
                assert_eq!(changed, before != on, "{mutation}: {reply}");
            }
            None => assert_eq!(reply["errors"][0]["extensions"]["code"], "NOT_FOUND", "{reply}"),
        }
    }

    /// Comments on a note, or replies to one of the storm's first comments.
    async fn comment(&self, client: &Client, rng: &mut StdRng, done: &mut Done) {
        let at = rng.random_range(0..NOTES);
        let note = self.notes[at].0.clone();
        let parent = self.comments.get(at).filter(|_| rng.random_bool(0.5)).cloned();
        let input = json!({ "input": { "noteId": note, "replyToId": parent, "body": "In a storm" } });
        let query = "mutation ($input: AddCommentInput!) { addComment(input: $input) { comment { id } } }";
        let reply = client.send(query, input).await.body;
        match reply["data"]["addComment"]["comment"]["id"].as_str() {
            Some(id) => {
                done.comments.insert(id.to_owned(), (note, parent));
            }
            None => assert_eq!(reply["errors"][0]["extensions"]["code"], "NOT_FOUND", "{reply}"),
        }
    }

    /// Rates a note, or takes the rating back.
    async fn rate(&self, client: &Client, rng: &mut StdRng, done: &mut Done) {
        let note = &self.notes.choose(rng).unwrap().0;
        let score = rng.random_bool(0.7).then(|| rng.random_range(0..=10));
        let (query, input) = match score {
            Some(score) => (
                "mutation ($input: RateNoteInput!) { done: rateNote(input: $input) { changed } }",
                json!({ "noteId": note, "score": score }),
            ),
            None => (
                "mutation ($input: UnrateNoteInput!) { done: unrateNote(input: $input) { changed } }",
                json!({ "noteId": note }),
            ),
        };
        let reply = client.send(query, json!({ "input": input })).await.body;
        match reply["data"]["done"]["changed"].as_bool() {
            Some(changed) => {
                let before = match score {
                    Some(score) => done.ratings.insert(note.clone(), score),
                    None => done.ratings.remove(note),
                };
                assert_eq!(changed, before != score, "{reply}");
            }
            None => assert_eq!(reply["errors"][0]["extensions"]["code"], "NOT_FOUND", "{reply}"),
        }
    }

    async fn view(&self, client: &Client, rng: &mut StdRng, done: &mut Done) {
        let ids: Vec<&String> = (0..3).map(|_| &self.notes.choose(rng).unwrap().0).collect();
        let viewed = client.act("recordViews", json!({ "noteIds": ids }), "notes { id }").await;
        let viewed: BTreeSet<&str> =
            viewed["notes"].as_array().unwrap().iter().map(|note| note["id"].as_str().unwrap()).collect();
        // A request counts a note once, also if it names it twice.
        for id in viewed {
            *done.views.entry(id.to_owned()).or_default() += 1;
        }
    }
}

async fn post(client: &Client, group: Option<&String>) -> String {
    let input = json!({ "title": "In a storm", "body": "Text", "groupId": group });
    client.act("createNote", input, "note { id }").await["note"]["id"].as_str().unwrap().to_owned()
}

async fn remove_one(client: &Client, rng: &mut StdRng, done: &mut Done) {
    let mine: Vec<String> = done.notes.keys().cloned().collect();
    let Some(id) = mine.choose(rng) else { return };
    let removed = client.act("deleteNote", json!({ "noteId": id }), "changed").await;
    assert_eq!(removed["changed"], true);
    done.notes.remove(id);
    done.removed.insert(id.clone());
}

async fn remove_comment(client: &Client, rng: &mut StdRng, done: &mut Done) {
    let mine: Vec<String> = done.comments.keys().cloned().collect();
    let Some(id) = mine.choose(rng) else { return };
    // Unchanged if the comment was removed together with its note.
    client.act("deleteComment", json!({ "commentId": id }), "changed").await;
    done.comments.remove(id);
}

/// Hides and restores users at random; returns the users that are hidden in the end.
pub async fn moderate(moderator: &Client, world: &World, mut rng: StdRng) -> BTreeSet<String> {
    let mut hidden = BTreeSet::new();
    for _ in 0..12 {
        let user = world.users[..HIDEABLE].choose(&mut rng).unwrap().1.clone();
        let hide = rng.random_bool(0.5);
        let mutation = if hide { "hideUser" } else { "restoreUser" };
        let changed = moderator.act(mutation, json!({ "userId": user }), "changed").await["changed"].clone();
        assert_eq!(changed, hidden.contains(&user) != hide);
        if hide {
            hidden.insert(user);
        } else {
            hidden.remove(&user);
        }
    }
    hidden
}

/// Grants coins at random; returns the coins of each user, according to the replies.
pub async fn grant(service: &Client, world: &World, mut rng: StdRng) -> BTreeMap<String, i64> {
    let mut coins = BTreeMap::new();
    for _ in 0..20 {
        let user = world.users.choose(&mut rng).unwrap().1.clone();
        let amount = rng.random_range(1..50) * if rng.random_bool(0.3) { -1 } else { 1 };
        let balance = coins.entry(user.clone()).or_insert(0);
        let input = json!({ "userId": user, "amount": amount, "reason": "A storm" });
        if *balance + amount < 0 {
            assert_eq!(service.refused("grantCoins", input).await.1.as_deref(), Some("amount"));
        } else {
            service.act("grantCoins", input, "__typename").await;
            *balance += amount;
        }
    }
    coins
}
