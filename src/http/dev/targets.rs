//! What the crowd of a storm acts on: the notes that visitors see.

use std::{collections::HashSet, iter::zip};

use async_graphql::ServerError;
use axum::http::StatusCode;
use rand::{Rng, seq::IndexedRandom};
use rand_distr::{Distribution, Zipf};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Refusal, ask, bad_request};
use crate::graphql::{ApiError, Caller, Code, Engine, outcome};

/// How unequal notes are: with 30 of them, the first draws a quarter of all that is done.
const SKEW: f64 = 1.0;

/// The newest page, and the hottest notes of the day.
const SEEN: &str = "{
    hotNotes(window: DAY, first: 10) { nodes { ...Target } }
    feed(first: 20) { nodes { ...Target } } }
fragment Target on Note { id author { id } comments(first: 3) { nodes { id } } }";

const NAMED: &str = "query ($ids: [ID!]!) { nodes(ids: $ids) { ...Target } }
fragment Target on Note { id author { id } comments(first: 3) { nodes { id } } }";

/// Notes, those first that draw the most. There is at least one.
pub struct Targets {
    notes: Vec<Note>,
    popularity: Zipf<f64>,
}

/// A note and what one finds with it.
#[derive(Deserialize)]
pub struct Note {
    id: String,
    author: Option<Id>,
    comments: Option<Nodes<Id>>,
}

#[derive(Deserialize)]
struct Id {
    id: String,
}

#[derive(Deserialize)]
struct Nodes<T> {
    nodes: Vec<T>,
}

impl Targets {
    /// What visitors see when they come, or else the notes that are named.
    ///
    /// # Errors
    /// 400 without any note, and for ids that are none; 503 without the stores.
    pub async fn find(engine: &Engine, named: &[String]) -> Result<Self, Refusal> {
        let (document, variables) = match named {
            [] => (SEEN, json!({})),
            named => (NAMED, json!({ "ids": named })),
        };
        let found = ask(engine, Caller::nobody(), document, variables).await.map_err(refused)?;
        let notes = if named.is_empty() {
            mixed(notes_at(&found, "/hotNotes/nodes"), notes_at(&found, "/feed/nodes"))
        } else {
            notes_at(&found, "/nodes")
        };
        let popularity = Zipf::new(notes.len() as f64, SKEW).map_err(|_| no_notes(named))?;
        Ok(Self { notes, popularity })
    }

    /// A note, the hot ones more often than others.
    pub fn draw(&self, rng: &mut impl Rng) -> &Note {
        let rank = self.popularity.sample(rng) as usize;
        &self.notes[rank.clamp(1, self.notes.len()) - 1]
    }
}

impl Note {
    pub fn id(&self) -> &str {
        &self.id
    }

    pub fn author(&self) -> Option<&str> {
        self.author.as_ref().map(|author| author.id.as_str())
    }

    /// Any of those that one sees with the note.
    pub fn comment(&self, rng: &mut impl Rng) -> Option<&str> {
        self.comments.as_ref()?.nodes.choose(rng).map(|comment| comment.id.as_str())
    }
}

/// Without what is no note, or is not there any more.
fn notes_at(found: &Value, path: &str) -> Vec<Note> {
    let nodes = found.pointer(path).and_then(Value::as_array).into_iter().flatten();
    nodes.filter_map(|node| Note::deserialize(node).ok()).collect()
}

/// By turns, so that both the hottest and the newest come first; each note once.
fn mixed(hot: Vec<Note>, new: Vec<Note>) -> Vec<Note> {
    let mut ranked: Vec<_> = zip(0.., hot).chain(zip(0.., new)).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    let mut seen = HashSet::new();
    ranked.into_iter().map(|(_, note)| note).filter(|note| seen.insert(note.id.clone())).collect()
}

fn refused(error: ServerError) -> Refusal {
    if outcome(Some(&error)) == Code::RetryLater.name() {
        return Refusal::new(StatusCode::SERVICE_UNAVAILABLE, ApiError::new(Code::RetryLater, error.message));
    }
    bad_request(format!("noteIds: {}", error.message))
}

fn no_notes(named: &[String]) -> Refusal {
    bad_request(match named {
        [] => "there are no notes to act on: start with --seed-if-empty, or post one",
        _ => "noteIds: none of these is a note",
    })
}

#[cfg(test)]
mod tests {
    use rand::{SeedableRng, rngs::StdRng};

    use super::*;

    fn notes(ids: &[&str]) -> Vec<Note> {
        let note = |id: &&str| Note { id: (*id).to_owned(), author: None, comments: None };
        ids.iter().map(note).collect()
    }

    #[test]
    fn the_hottest_and_the_newest_come_by_turns_and_each_once() {
        let mixed = mixed(notes(&["a", "b", "c"]), notes(&["d", "a", "e", "f"]));
        let ids: Vec<&str> = mixed.iter().map(Note::id).collect();
        assert_eq!(ids, ["a", "d", "b", "c", "e", "f"]);
    }

    #[test]
    fn a_few_notes_draw_much_and_every_note_draws_some() {
        let ids: Vec<String> = (0..30).map(|id| id.to_string()).collect();
        let notes = notes(&ids.iter().map(String::as_str).collect::<Vec<_>>());
        let targets = Targets { notes, popularity: Zipf::new(30.0, SKEW).unwrap() };
        let mut rng = StdRng::seed_from_u64(1);
        let mut drawn = [0; 30];
        for _ in 0..10_000 {
            drawn[targets.draw(&mut rng).id().parse::<usize>().unwrap()] += 1;
        }
        assert!(drawn[0] > 2_000 && drawn.iter().all(|times| *times > 20), "{drawn:?}");
    }
}
