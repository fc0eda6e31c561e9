//! The example documents, with variables that fit the demo data.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{Outcome, server::token};

/// Mutations that change nothing when they are repeated.
const REPEATABLE: [&str; 7] =
    ["collect-note", "follow", "join-group", "like-comment", "like-note", "mark-inbox-read", "rate-note"];

pub struct Document {
    /// The name of its file.
    pub name: String,
    pub text: String,
    pub variables: Value,
}

impl Document {
    /// Without variables.
    pub fn of(text: &str) -> Self {
        Self { name: text.to_owned(), text: text.to_owned(), variables: json!({}) }
    }

    pub fn is_query(&self) -> bool {
        !self.text.contains("\nmutation ")
    }

    pub fn has_list(&self) -> bool {
        self.text.contains("nodes {") || self.text.contains("nodes(")
    }

    /// The body of its request.
    pub fn body(&self) -> String {
        json!({ "query": self.text, "variables": self.variables }).to_string()
    }
}

/// All example queries, and the mutations that may be repeated.
pub async fn of_examples(url: &str) -> Outcome<Vec<Document>> {
    let variables = variables(url).await?;
    let mut documents = Vec::new();
    for kind in ["queries", "mutations"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/examples").join(kind);
        let mut files = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
        files.sort_by_key(fs::DirEntry::file_name);
        for file in files {
            let name = file.file_name().to_string_lossy().replace(".graphql", "");
            if kind == "queries" || REPEATABLE.contains(&name.as_str()) {
                let text = fs::read_to_string(file.path())?;
                documents.push(Document { name, text, variables: variables.clone() });
            }
        }
    }
    Ok(documents)
}

/// The hottest note with a group, its author and its hottest comment.
async fn variables(url: &str) -> Outcome<Value> {
    let _ = rustls::crypto::ring::default_provider().install_default(); // fails only if a provider is installed
    let query = "{ hotNotes(first: 100, orderBy: ALL) {
        nodes { id author { id subject: name } group { id } comments(first: 1) { nodes { id } } } } }";
    let request = reqwest::Client::new().post(format!("{url}/graphql")).bearer_auth(token()?);
    let answer: Value = request.json(&json!({ "query": query })).send().await?.json().await?;
    let notes = answer["data"]["hotNotes"]["nodes"].as_array().ok_or_else(|| answer.to_string())?;
    let is_full = |note: &&Value| note["group"]["id"].is_string() && note["comments"]["nodes"][0].is_object();
    let note = notes.iter().find(is_full).ok_or("no note with a group and a comment")?;
    let (id, author, group) = (&note["id"], &note["author"]["id"], &note["group"]["id"]);
    let comment = &note["comments"]["nodes"][0]["id"];
    let ids: Vec<&Value> = notes.iter().map(|note| &note["id"]).take(20).collect();
    Ok(json!({
        "id": id, "ids": ids, "noteId": id, "userId": author, "commentId": comment, "groupId": group,
        "subject": "mira.okafor", "prefix": "mi", "from": "2026-01-01T00:00:00.000Z", "badges": ["LIKES"], "score": 7,
    }))
}
