//! Texts after a storm: the last ones that were accepted, and of comments the last that the moderator allows.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{expected::Outcome, world::text};
use support::Client;

/// Texts by object.
pub type Texts = BTreeMap<String, String>;

/// Most ids of a request.
const PAGE: usize = 40;

impl Outcome<'_> {
    /// The expected texts, of hidden users too.
    pub fn texts(&self) -> Texts {
        let mut texts = Texts::new();
        for life in self.users() {
            let done = &life.done;
            texts.extend(done.name.iter().map(|name| (life.user.clone(), name.clone())));
            let notes = done.notes.iter().filter(|(id, _)| self.is_there(id));
            texts.extend(notes.map(|(id, post)| (id.clone(), post.body.clone())));
            let comments = done.comments.iter().filter(|(id, words)| self.is_public(id, words));
            texts.extend(comments.map(|(id, words)| (id.clone(), words.body.clone())));
            let groups = done.group_names.iter().filter(|(id, _)| self.is_there(id));
            texts.extend(groups.map(|(id, name)| (id.clone(), name.clone())));
        }
        texts
    }
}

/// The same texts, read through the API. Objects that it does not find are missing.
pub async fn texts_from_api(client: &Client, expected: &Texts) -> Texts {
    let query = "query ($ids: [ID!]!) { nodes(ids: $ids) { id
        ... on User { text: name } ... on Group { text: name } ... on Note { body } ... on Comment { body } } }";
    let ids: Vec<&String> = expected.keys().collect();
    let mut texts = Texts::new();
    for ids in ids.chunks(PAGE) {
        let nodes = client.data(query, json!({ "ids": ids })).await["nodes"].clone();
        let found = nodes.as_array().unwrap().iter().filter(|node| !node.is_null());
        // A note may be without text.
        let body =
            |node: &Value| node.get("text").unwrap_or(&node["body"]).as_str().unwrap_or_default().to_owned();
        texts.extend(found.map(|node| (text(&node["id"]), body(node))));
    }
    texts
}
